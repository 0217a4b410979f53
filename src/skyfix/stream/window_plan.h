// Which frames are kept, and how a long sequence is cut into windows. Pure arithmetic
// (specification: gctstream.md sections 6.3 and 11).
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/stream/stream_options.h"

namespace skyfix {

// frames: 0 = unknown (then 1, and motion decides where the options leave it to us).
int effective_keyframe_interval(const StreamOptions& options, std::int64_t frames);

// Role of frame `position` (from 0) of a window that begins with `scale_frames` of them.
FrameRole frame_role(std::int64_t position, std::int64_t scale_frames, int keyframe_interval);

// How many of the first `frames` frames are kept.
std::int64_t kept_frames(std::int64_t frames, std::int64_t scale_frames, int keyframe_interval);

struct WindowSizes {
  std::int64_t frames = 0;   // F, of a full window; by motion: the kept ones, however many it has
  std::int64_t overlap = 0;  // O; less than `frames` (Error(bad_option) otherwise)
  std::int64_t step() const { return frames - overlap; }
};
WindowSizes window_sizes(const StreamOptions& options, int keyframe_interval);

struct FrameRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;  // exclusive
};
// The windows of a sequence of known length, in order.
std::vector<FrameRange> plan_windows(const WindowSizes& sizes, std::int64_t frames);

}  // namespace skyfix
