#include "skyfix/frames/frame_selection.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "skyfix/frames/testing.h"

namespace skyfix {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> wanted(const FrameSourceOptions& options, std::optional<double> rate,
                                 std::int64_t frames) {
  const FrameSelection selection(options, rate);
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 1; i <= frames; ++i) {
    if (selection.wants(i)) indices.push_back(i);
  }
  EXPECT_EQ(selection.count(frames), std::ssize(indices));
  return indices;
}

TEST(FrameSelection, FpsTakesTheNearestWholeStep) {
  EXPECT_THAT(wanted({.fps = 10}, 29.97, 10), ElementsAre(1, 4, 7, 10));
  EXPECT_THAT(wanted({.fps = 24}, 25, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(wanted({.fps = 60}, 25, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(wanted({.fps = 1e-300}, 25, 5), ElementsAre(1));
}

TEST(FrameSelection, StrideThinsWhatFpsLeft) {
  EXPECT_THAT(wanted({.fps = 15, .stride = 3}, 30, 14), ElementsAre(1, 7, 13));
}

TEST(FrameSelection, TheRangeComesFirst) {
  EXPECT_THAT(wanted({.stride = 4, .first = 3, .last = 12}, {}, 100), ElementsAre(3, 7, 11));
  EXPECT_THAT(wanted({.first = 5}, {}, 4), ElementsAre());
  EXPECT_TRUE(FrameSelection({.last = 7}, {}).is_over(8));
  EXPECT_FALSE(FrameSelection({.last = 7}, {}).is_over(7));
  EXPECT_FALSE(FrameSelection({}, {}).is_over(1'000'000));
}

TEST(FrameSelection, WithoutARateFpsIsRefused) {
  const auto [reason, text] =
      testing_frames::error_of([] { FrameSelection({.fps = 5}, std::nullopt); });
  EXPECT_EQ(reason, Reason::bad_option);
  EXPECT_THAT(text, ::testing::HasSubstr("--stride"));
}

}  // namespace
}  // namespace skyfix
