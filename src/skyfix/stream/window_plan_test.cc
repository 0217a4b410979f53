#include "skyfix/stream/window_plan.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {
using ::testing::HasSubstr;

TEST(KeyframeInterval, IsOneUpToTheLengthThatWasTrained) {
  StreamOptions options;
  EXPECT_EQ(effective_keyframe_interval(options, 0), 1);
  EXPECT_EQ(effective_keyframe_interval(options, 320), 1);
  EXPECT_EQ(effective_keyframe_interval(options, 321), 2);
  EXPECT_EQ(effective_keyframe_interval(options, 640), 2);
  EXPECT_EQ(effective_keyframe_interval(options, 25'000), 79);
  options.keyframe_interval = 7;
  EXPECT_EQ(effective_keyframe_interval(options, 100), 7);
  options.keyframe_interval = 0;
  options.mode = StreamMode::windowed;
  EXPECT_EQ(effective_keyframe_interval(options, 25'000), 1);
}

TEST(FrameRoles, TheFirstStreamedFrameIsAlwaysKept) {
  std::string roles;
  for (int i = 0; i < 10; ++i) roles += frame_role_name(frame_role(i, 3, 3))[0];
  EXPECT_EQ(roles,
            "ssskn"
            "nknnk");
  EXPECT_EQ(frame_role(5, 3, 1), FrameRole::keyframe);
}

TEST(FrameRoles, KeptFramesAreThoseThatAreNotNonKeyframes) {
  for (const int scale : {1, 3}) {
    for (const int interval : {0, 1, 2, 5}) {
      std::int64_t kept = 0;
      for (int frames = 0; frames < 20; ++frames) {
        EXPECT_EQ(kept_frames(frames, scale, interval), kept) << scale << " " << interval;
        kept += frame_role(frames, scale, interval) != FrameRole::non_keyframe;
      }
    }
  }
}

TEST(Windows, CoverEveryFrameAndShareTheOverlap) {
  StreamOptions options;
  for (const int scale : {1, 2, 8}) {
    for (const int interval : {1, 2, 5}) {
      for (const int overlap : {-1, 0, 1, 3}) {
        options.num_scale_frames = scale;
        options.window_frames = 12;
        options.overlap_frames = overlap < 0 ? std::optional<int>() : overlap;
        const WindowSizes sizes = window_sizes(options, interval);
        EXPECT_EQ(sizes.frames, scale + (12 - scale) * interval);
        EXPECT_EQ(sizes.overlap, overlap < 0 ? scale : overlap);
        for (const std::int64_t frames : {1, 5, 12, 13, 40, 101}) {
          const auto windows = plan_windows(sizes, frames);
          ASSERT_FALSE(windows.empty());
          EXPECT_EQ(windows.front().begin, 0);
          EXPECT_EQ(windows.back().end, frames);
          for (std::size_t i = 1; i < windows.size(); ++i) {
            EXPECT_EQ(windows[i - 1].end - windows[i].begin, sizes.overlap);
            EXPECT_EQ(windows[i - 1].end - windows[i - 1].begin, sizes.frames);
            EXPECT_GT(windows[i].end, windows[i - 1].end) << "every window adds a frame";
          }
        }
      }
    }
  }
}

TEST(Windows, AnOverlapOfKeyframesCountsTheFramesBetweenThem) {
  StreamOptions options{.num_scale_frames = 2, .window_frames = 5};
  options.overlap_keyframes = 2;
  EXPECT_EQ(window_sizes(options, 2).frames, 8);
  EXPECT_EQ(window_sizes(options, 2).overlap, 4);
}

TEST(Windows, AnOverlapThatLeavesNoNewFrameIsRefused) {
  StreamOptions options{.num_scale_frames = 4, .window_frames = 4};
  try {
    window_sizes(options, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--num-scale-frames"));
  }
  options.window_frames = 10;
  options.overlap_frames = 10;
  EXPECT_THROW(window_sizes(options, 1), Error);
  options.overlap_frames = 9;
  EXPECT_EQ(window_sizes(options, 1).step(), 1);
}

}  // namespace
}  // namespace skyfix
