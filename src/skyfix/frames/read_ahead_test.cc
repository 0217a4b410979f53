#include <gtest/gtest.h>

#include <stdexcept>

#include "skyfix/base/file.h"
#include "skyfix/frames/testing.h"

namespace skyfix {
namespace {

using namespace testing_frames;

// Endless, with a picture of which the first pixel says which it is.
std::unique_ptr<FrameSource> counted(std::int64_t frames) {
  return std::make_unique<MadeUpSource>([=](std::int64_t index) -> std::optional<SourceFrame> {
    if (index > frames) return std::nullopt;
    SourceFrame frame;
    frame.index = index;
    frame.pixels = Image{1, 1, 3, {static_cast<std::uint8_t>(index), 0, 0}};
    return frame;
  });
}

TEST(ReadAhead, SameFramesSameOrder) {
  for (const int depth : {1, 2, 7}) {
    const auto source = read_ahead(counted(50), depth);
    const auto frames = all_of(*source);
    ASSERT_EQ(frames.size(), 50u);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].index, std::int64_t(i) + 1);
      EXPECT_EQ(frames[i].pixels.pixels[0], i + 1);
    }
    EXPECT_EQ(source->figures().given, 50);
    EXPECT_FALSE(source->next());
  }
}

TEST(ReadAhead, DecodesPhotosAndKeepsFailures) {
  const Folder folder;
  write_png(folder / "1.png", quarters());
  write_file_atomic(folder / "2.png", "text");
  write_png(folder / "3.png", quarters());
  const auto source = read_ahead(open_frames({.input = folder.path()}));
  const auto frames = all_of(*source);
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].pixels.pixels, quarters().pixels);
  EXPECT_EQ(frames[1].failure, Reason::not_an_image);
  EXPECT_FALSE(frames[1].failure_text.empty());
  EXPECT_EQ(frames[2].pixels.pixels, quarters().pixels);
  EXPECT_EQ(source->figures().unreadable, 1);
  EXPECT_EQ(source->info().frames, 3);
}

TEST(ReadAhead, ExceptionsComeAfterTheFramesBeforeThem) {
  const auto source = read_ahead(std::make_unique<MadeUpSource>([](std::int64_t index) {
    if (index == 3) throw Error(Reason::source_lost, "unplugged");
    SourceFrame frame;
    frame.index = index;
    return std::optional(frame);
  }));
  EXPECT_EQ(source->next()->index, 1);
  EXPECT_EQ(source->next()->index, 2);
  EXPECT_EQ(error_of([&] { source->next(); }).first, Reason::source_lost);
}

TEST(ReadAhead, StopAndDestructionDoNotWaitForTheSource) {
  { const auto source = read_ahead(counted(1'000'000'000), 2); }
  const auto source = read_ahead(counted(1'000'000'000), 2);
  source->next();
  source->stop();
  EXPECT_FALSE(source->next());
  EXPECT_EQ(error_of([] { read_ahead(counted(1), 0); }).first, Reason::bad_option);
}

}  // namespace
}  // namespace skyfix
