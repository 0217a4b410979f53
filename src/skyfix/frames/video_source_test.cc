#include <gmock/gmock.h>

#include <fstream>

#include "skyfix/base/file.h"
#include "skyfix/base/parallel.h"
#include "skyfix/frames/sources.h"
#include "skyfix/frames/video_testing.h"

namespace skyfix {
namespace {

using namespace testing_frames;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr const char* kH264 = "-c:v libx264 -g 12 -bf 2 -pix_fmt yuv420p";
constexpr std::int64_t kFrameNs = 40'000'000;

TEST(VideoSource, EveryFrameInPresentationOrderWithItsTime) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "clip.mp4", 40, kH264);  // B-frames: decoding order is another
  const auto source = open_frames({.input = folder / "clip.mp4"});
  EXPECT_EQ(source->info().kind, FrameSourceKind::video);
  EXPECT_EQ(source->info().frames, 40);
  EXPECT_EQ(source->info().width, 96);
  EXPECT_EQ(source->info().height, 64);
  EXPECT_THAT(source->info().frames_per_second, Optional(25.0));
  const auto frames = all_of(*source);
  ASSERT_EQ(frames.size(), 40u);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i) + 1;
    EXPECT_EQ(frames[i].index, index);
    EXPECT_EQ(frames[i].time_ns, (index - 1) * kFrameNs);
    EXPECT_TRUE(frames[i].file.empty());
    ASSERT_FALSE(frames[i].failure) << frames[i].failure_text;
    EXPECT_LE(brightness_error(frames[i].pixels, index), 6) << index;
  }
  EXPECT_EQ(frames[0].name, "clip.mp4#000001");
  EXPECT_EQ(frames[39].name, "clip.mp4#000040");
  EXPECT_EQ(source->figures().given, 40);
  EXPECT_EQ(source->figures().unreadable, 0);
  EXPECT_FALSE(source->next());
}

TEST(VideoSource, TheNumberOfThreadsChangesNothing) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "clip.mp4", 30, kH264);
  const std::size_t before = thread_count();
  std::vector<std::vector<std::uint8_t>> pixels[2];
  for (const int run : {0, 1}) {
    set_thread_count(run == 0 ? 1 : 4);
    for (SourceFrame& frame : all_of(*open_frames({.input = folder / "clip.mp4"}))) {
      pixels[run].push_back(std::move(frame.pixels.pixels));
    }
  }
  set_thread_count(before);
  EXPECT_EQ(pixels[0].size(), 30u);
  EXPECT_EQ(pixels[0], pixels[1]);
}

TEST(VideoSource, RealTimesNotCountedOnes) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  // Ten frames at 25 a second, then every second one is missing.
  make_video(folder / "clip.mkv", 20,
             "-vf \"select='lt(n,10)+not(mod(n,2))'\" -vsync vfr -c:v mpeg4 -q:v 2");
  std::vector<std::int64_t> times;
  for (const SourceFrame& frame : all_of(*open_frames({.input = folder / "clip.mkv"}))) {
    times.push_back(*frame.time_ns / kFrameNs);
  }
  EXPECT_THAT(times, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18));
}

TEST(VideoSource, FpsStrideAndRange) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "clip.mp4", 40, kH264);
  const auto source =
      open_frames({.input = folder / "clip.mp4", .fps = 12, .stride = 3, .first = 5, .last = 30});
  EXPECT_EQ(source->info().frames, 5);
  std::vector<std::int64_t> indices;
  for (const SourceFrame& frame : all_of(*source)) {
    indices.push_back(frame.index);
    EXPECT_EQ(frame.time_ns, (frame.index - 1) * kFrameNs) << "since the first of the video";
    EXPECT_LE(brightness_error(frame.pixels, frame.index), 6);
  }
  EXPECT_THAT(indices, ElementsAre(5, 11, 17, 23, 29));
  const auto beyond = open_frames({.input = folder / "clip.mp4", .first = 41});
  const auto [reason, text] = error_of([&] { beyond->next(); });
  EXPECT_EQ(reason, Reason::bad_option);
  EXPECT_THAT(text, HasSubstr("40 frames"));
}

TEST(VideoSource, ATruncatedFileEndsCleanlyAndSaysSo) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "whole.mp4", 60, std::string(kH264) + " -movflags +faststart");
  const std::string bytes = read_file(folder / "whole.mp4");
  write_file_atomic(folder / "cut.mp4", bytes.substr(0, bytes.size() * 2 / 3));
  const auto source = open_frames({.input = folder / "cut.mp4"});
  const auto frames = all_of(*source);
  ASSERT_GT(frames.size(), 10u);
  ASSERT_LT(frames.size(), 60u);
  for (std::size_t i = 0; i + 4 < frames.size(); ++i) {
    ASSERT_FALSE(frames[i].failure) << i;
    EXPECT_LE(brightness_error(frames[i].pixels, frames[i].index), 6);
  }
  EXPECT_EQ(frames.back().failure, Reason::corrupt_image);
  EXPECT_THAT(frames.back().failure_text, HasSubstr("of 60 frames"));
  EXPECT_GE(source->figures().unreadable, 1);
}

TEST(VideoSource, DamagedFramesAreReportedAndSkipped) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  // Every frame stands for itself.
  make_video(folder / "whole.mp4", 30, "-c:v libx264 -g 1 -qp 8 -pix_fmt yuv420p");
  std::string bytes = read_file(folder / "whole.mp4");
  for (std::size_t at = bytes.size() / 2; at < bytes.size() / 2 + 60; ++at) bytes[at] ^= 0x5a;
  write_file_atomic(folder / "damaged.mp4", bytes);
  const auto source = open_frames({.input = folder / "damaged.mp4"});
  const auto frames = all_of(*source);
  ASSERT_EQ(frames.size(), 30u);
  int failed = 0;
  for (const SourceFrame& frame : frames) {
    if (frame.failure) {
      ++failed;
      EXPECT_EQ(frame.failure, Reason::corrupt_image);
      EXPECT_EQ(frame.name, numbered_name("damaged.mp4", frame.index));
      EXPECT_THAT(frame.failure_text, HasSubstr("damaged"));
      EXPECT_TRUE(frame.pixels.pixels.empty());
    } else {
      EXPECT_LE(brightness_error(frame.pixels, frame.index), 6) << frame.index;
    }
  }
  EXPECT_GE(failed, 1);
  EXPECT_LE(failed, 2);
  EXPECT_EQ(source->figures().unreadable, failed);
}

// Whatever is damaged: no crash, an end, and every frame either there or reported.
TEST(VideoSource, AnyDamageEnds) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "whole.mp4", 25, kH264);
  const std::string whole = read_file(folder / "whole.mp4");
  int read = 0;
  for (int round = 0; round < 12; ++round) {
    std::string bytes = whole;
    const std::size_t begin = bytes.size() * std::size_t(round) / 12;
    for (std::size_t k = begin; k < std::min(begin + 60, bytes.size()); ++k) bytes[k] ^= 0x5a;
    write_file_atomic(folder / "damaged.mp4", bytes);
    try {
      const auto source = open_frames({.input = folder / "damaged.mp4"});
      const auto frames = all_of(*source);
      EXPECT_EQ(source->figures().given, std::ssize(frames));
      read += static_cast<int>(frames.size());
    } catch (const Error& error) {
      EXPECT_TRUE(error.reason() == Reason::not_a_video || error.reason() == Reason::no_input)
          << error.what();
    }
  }
  EXPECT_GT(read, 100);
}

TEST(VideoSource, NoVideosAreRefused) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  write_file_atomic(folder / "text.mp4", "This is a text, and a long one.\n");
  EXPECT_EQ(error_of([&] { open_frames({.input = folder / "text.mp4"}); }).first,
            Reason::not_a_video);
  write_file_atomic(folder / "empty.mp4", "");
  EXPECT_EQ(error_of([&] { open_frames({.input = folder / "empty.mp4"}); }).first,
            Reason::not_a_video);
  EXPECT_EQ(error_of([&] { open_frames({.input = folder / "none.mp4"}); }).first,
            Reason::unreadable_file);
  // The index is written last: a recording that was not finished has none.
  make_video(folder / "whole.mp4", 10, kH264);
  const std::string bytes = read_file(folder / "whole.mp4");
  write_file_atomic(folder / "cut.mp4", bytes.substr(0, bytes.size() / 2));
  const auto [reason, text] = error_of([&] { open_frames({.input = folder / "cut.mp4"}); });
  EXPECT_EQ(reason, Reason::not_a_video);
  EXPECT_THAT(text, HasSubstr("not finished"));
  ASSERT_EQ(
      std::system(("ffmpeg -v error -f lavfi -i sine=d=1 '" + (folder / "sound.mp4").string() + "'")
                      .c_str()),
      0);
  EXPECT_EQ(error_of([&] { open_frames({.input = folder / "sound.mp4"}); }).first,
            Reason::not_a_video);
}

TEST(VideoSource, RotationIsApplied) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "plain.mp4", 3, kH264);
  const Image plain = open_frames({.input = folder / "plain.mp4"})->next()->pixels;
  const auto run = [](const std::string& arguments) {
    ASSERT_EQ(std::system(("ffmpeg -v error -y " + arguments).c_str()), 0) << arguments;
  };
  for (const int degrees : {90, 180, 270}) {
    const auto file = folder / "turned.mp4";
    run("-i '" + (folder / "plain.mp4").string() +
        "' -c copy -metadata:s:v:0 rotate=" + std::to_string(degrees) + " '" + file.string() + "'");
    // What FFmpeg's own player would show.
    run("-i '" + file.string() + "' -frames:v 1 '" + (folder / "shown.png").string() + "'");
    const Image shown = decode_image(folder / "shown.png", {.grey = false});
    const auto source = open_frames({.input = file});
    EXPECT_EQ(source->info().width, degrees == 180 ? 96 : 64);
    const Image picture = source->next()->pixels;
    ASSERT_EQ(picture.width, shown.width);
    ASSERT_EQ(picture.height, shown.height);
    int far = 0;
    for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
      far += std::abs(picture.pixels[i] - shown.pixels[i]) > 40 ? 1 : 0;
    }
    EXPECT_LT(far, std::ssize(picture.pixels) / 50) << degrees;
    EXPECT_NE(picture.pixels, plain.pixels);
  }
}

// The same picture through limited and full range, BT.601 and BT.709.
TEST(VideoSource, ColoursComeBack) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  for (const std::string matrix : {"bt709", "smpte170m"}) {
    for (const std::string range : {"tv", "pc"}) {
      const auto file = folder / (matrix + range + ".mkv");
      make_video(
          file, 2,
          "-vf scale=out_color_matrix=" + std::string(matrix == "bt709" ? "bt709" : "bt601") +
              ":out_range=" + range + " -c:v libx264 -qp 4 -pix_fmt yuv444p -colorspace " + matrix +
              " -color_range " + range);
      const Image shown = open_frames({.input = file})->next()->pixels;
      const Image wanted = numbered_picture(1);
      int worst = 0;
      for (const int x : {20, 70}) {
        for (const int y : {8, 56}) {
          for (int c = 0; c < 3; ++c) {
            worst = std::max(worst, std::abs(shown.row(y)[3 * x + c] - wanted.row(y)[3 * x + c]));
          }
        }
      }
      EXPECT_LE(worst, 4) << matrix << " " << range;
    }
  }
}

TEST(VideoSource, OddSizesKeepTheirEdges) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "odd.mkv", 2, "-c:v ffv1 -pix_fmt bgr0", 53, 37);
  const auto source = open_frames({.input = folder / "odd.mkv"});
  EXPECT_EQ(source->next()->pixels.pixels, numbered_picture(1, 53, 37).pixels);
}

TEST(VideoSource, KnownByItsBytesToo) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "a.mp4", 2, kH264);
  std::filesystem::rename(folder / "a.mp4", folder / "DJI_0001");
  EXPECT_EQ(open_frames({.input = folder / "DJI_0001"})->info().kind, FrameSourceKind::video);
}

TEST(VideoSource, TheSideFileIsJoinedByElapsedTime) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "DJI_0001.mp4", 60, kH264);
  write_file_atomic(folder / "DJI_0001.SRT",
                    "1\n00:00:00,000 --> 00:00:01,000\n[latitude: 47.5] [longitude: 8.5] [rel_alt: "
                    "10.0 abs_alt: 500.0]\n\n"
                    "2\n00:00:01,000 --> 00:00:02,000\n[latitude: 47.6] [longitude: 8.6] [rel_alt: "
                    "20.0 abs_alt: 510.0]\n");
  const auto source = open_frames({.input = folder / "DJI_0001.mp4"});
  EXPECT_THAT(source->info().notes, IsEmpty());
  const auto frames = all_of(*source);
  EXPECT_THAT(frames[24].metadata.latitude_deg, Optional(47.5));
  EXPECT_THAT(frames[25].metadata.latitude_deg, Optional(47.6));
  EXPECT_THAT(frames[59].metadata.relative_altitude_m, Optional(20.0));
  const std::string with = source->info().configuration;
  write_file_atomic(folder / "DJI_0001.SRT", "nothing");
  const auto without = open_frames({.input = folder / "DJI_0001.mp4"});
  EXPECT_THAT(without->info().notes, ElementsAre(HasSubstr("not used")));
  EXPECT_NE(without->info().configuration, with);
  EXPECT_EQ(error_of([&] {
              open_frames({.input = folder / "DJI_0001.mp4", .srt = folder / "DJI_0001.SRT"});
            }).first,
            Reason::unreadable_file);
}

TEST(VideoSource, StopEndsIt) {
  SKYFIX_REQUIRE_FFMPEG();
  const Folder folder;
  make_video(folder / "clip.mp4", 10, kH264);
  const auto source = open_frames({.input = folder / "clip.mp4"});
  EXPECT_TRUE(source->next());
  source->stop();
  EXPECT_FALSE(source->next());
}

}  // namespace
}  // namespace skyfix
