#include "skyfix/stream/window_plan.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr std::int64_t kTrainedFrames = 320;  // kept frames beyond which accuracy drops

// The option that a too large overlap came from, and what would do.
std::string overlap_advice(const StreamOptions& options, std::int64_t frames) {
  const char* option = options.overlap_keyframes ? "--overlap-keyframes"
                       : options.overlap_frames  ? "--overlap-size"
                                                 : "--num-scale-frames";
  return fmt::format(
      "neighbouring windows of {} frames would share all of them, and no window would add a frame: "
      "lower {} or raise --window-size",
      frames, option);
}

}  // namespace

int effective_keyframe_interval(const StreamOptions& options, std::int64_t frames) {
  if (options.keyframe_interval > 0) return options.keyframe_interval;
  if (options.mode == StreamMode::windowed || frames <= kTrainedFrames) return 1;
  return static_cast<int>((frames + kTrainedFrames - 1) / kTrainedFrames);
}

FrameRole frame_role(std::int64_t position, std::int64_t scale_frames, int keyframe_interval) {
  if (position < scale_frames) return FrameRole::scale;
  const bool kept = keyframe_interval <= 1 || (position - scale_frames) % keyframe_interval == 0;
  return kept ? FrameRole::keyframe : FrameRole::non_keyframe;
}

std::int64_t kept_frames(std::int64_t frames, std::int64_t scale_frames, int keyframe_interval) {
  const std::int64_t scale = std::min(frames, scale_frames), k = std::max(keyframe_interval, 1);
  return scale + (frames - scale + k - 1) / k;
}

WindowSizes window_sizes(const StreamOptions& options, int keyframe_interval) {
  const std::int64_t scale = options.num_scale_frames, k = std::max(keyframe_interval, 1);
  WindowSizes sizes;
  sizes.frames = scale + std::max<std::int64_t>(options.window_frames - scale, 0) * k;
  sizes.overlap = options.overlap_keyframes ? std::max(scale, *options.overlap_keyframes * k)
                  : options.overlap_frames  ? *options.overlap_frames
                                            : scale;
  if (sizes.overlap >= sizes.frames) {
    throw Error(Reason::bad_option, overlap_advice(options, sizes.frames));
  }
  return sizes;
}

std::vector<FrameRange> plan_windows(const WindowSizes& sizes, std::int64_t frames) {
  std::vector<FrameRange> windows;
  if (frames <= 0) return windows;
  for (std::int64_t begin = 0;; begin += sizes.step()) {
    windows.push_back({begin, std::min(begin + sizes.frames, frames)});
    if (windows.back().end == frames) return windows;
  }
}

}  // namespace skyfix
