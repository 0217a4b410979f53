#include "skyfix/frames/frame_source.h"

#include <gmock/gmock.h>

#include "skyfix/base/file.h"
#include "skyfix/frames/testing.h"

namespace skyfix {
namespace {

using namespace testing_frames;
using ::testing::HasSubstr;

TEST(FrameSourceOptions, EachFaultNamesItsOption) {
  const auto refused = [](const FrameSourceOptions& options, const std::string& option) {
    const auto [reason, text] = error_of([&] { options.validate(); });
    EXPECT_EQ(reason, Reason::bad_option);
    EXPECT_THAT(text, HasSubstr(option));
  };
  refused({}, "--input");
  refused({.input = "a", .fps = -1}, "--fps");
  refused({.input = "a", .fps = std::numeric_limits<double>::quiet_NaN()}, "--fps");
  refused({.input = "a", .stride = 0}, "--stride");
  refused({.input = "a", .first = 0}, "range");
  refused({.input = "a", .first = 5, .last = 4}, "5 to 4");
  refused({.input = "a", .last = -2}, "range");
  refused({.input = "a", .queue_frames = 0}, "--queue");
  FrameSourceOptions{.input = "a", .first = 4, .last = 4}.validate();
}

TEST(FrameSource, NamesComeBack) {
  EXPECT_EQ(drop_policy_from_name("oldest"), DropPolicy::oldest);
  EXPECT_EQ(drop_policy_from_name(drop_policy_name(DropPolicy::block)), DropPolicy::block);
  EXPECT_EQ(error_of([] { drop_policy_from_name("newest"); }).first, Reason::bad_option);
  EXPECT_EQ(frame_source_kind_name(FrameSourceKind::live), "live");
}

TEST(FrameSource, PasswordsAreNotShown) {
  EXPECT_EQ(shown_input("rtsp://u:p@cam:554/a@b"), "rtsp://***@cam:554/a@b");
  EXPECT_EQ(shown_input("rtsp://cam/a@b"), "rtsp://cam/a@b");
  EXPECT_EQ(shown_input("rtsp://u:p@cam"), "rtsp://***@cam");
  EXPECT_EQ(shown_input("photos@home/x"), "photos@home/x");
}

// A JPEG with an orientation tag: the picture as a viewer shows it.
TEST(UprightRgb, AppliesTheOrientation) {
  const Folder folder;
  const Image picture = quarters();
  for (int orientation = 1; orientation <= 8; ++orientation) {
    PhotoMetadata metadata;
    metadata.orientation = orientation;
    SourceFrame frame;
    frame.file = folder / "a.jpg";
    write_jpeg(frame.file, picture, 95, {make_exif_segment(metadata)});
    const Image stored = decode_image(frame.file, {.grey = false});
    EXPECT_EQ(upright_rgb(frame).pixels, upright(stored, orientation).pixels) << orientation;
  }
}

TEST(UprightRgb, FailuresAndLimits) {
  const Folder folder;
  SourceFrame frame;
  frame.file = folder / "a.png";
  write_png(frame.file, quarters(2000, 1000));
  EXPECT_EQ(error_of([&] { upright_rgb(frame, 1); }).first, Reason::image_too_large);
  write_file_atomic(frame.file, "text");
  EXPECT_EQ(error_of([&] { upright_rgb(frame); }).first, Reason::not_an_image);
  frame.failure = Reason::corrupt_image;
  frame.failure_text = "a packet is damaged";
  const auto [reason, text] = error_of([&] { upright_rgb(frame); });
  EXPECT_EQ(reason, Reason::corrupt_image);
  EXPECT_EQ(text, "a packet is damaged");
}

}  // namespace
}  // namespace skyfix
