// How a stream is run (specification: gctstream.md sections 6.3, 10 and 11).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace skyfix {

enum class StreamMode { streaming, windowed };
std::string_view stream_mode_name(StreamMode mode);
StreamMode stream_mode_from_name(std::string_view name);  // throws Error(bad_option)

// A scale frame fixes the scale of its window; a keyframe is remembered; a non-keyframe only looks.
enum class FrameRole { scale, keyframe, non_keyframe };
std::string_view frame_role_name(FrameRole role);

struct StreamOptions {
  StreamMode mode = StreamMode::streaming;
  int num_scale_frames = 8;
  std::optional<int> reserved_slots = {};  // never evicted; without: num_scale_frames
  int window = 64;                         // whole frames remembered besides those
  // 0 = automatic: 1 up to 320 frames, else ceil(frames / 320); windowed: 1; where the number of
  // frames is not known, by motion of 3 % of the network picture's width.
  int keyframe_interval = 0;
  double motion_px = 0;            // above 0: keyframes by motion, mean displacement in network px
  int max_non_keyframe_gap = 100;  // by motion: a keyframe at the latest after so many
  int window_frames = 64;          // windowed: kept frames of a window
  std::optional<int> overlap_keyframes = {};  // windowed; without both: the scale frames
  std::optional<int> overlap_frames = {};
  bool specials_of_evicted = true;  // off: for comparisons
  bool offload_to_cpu = false;      // results leave the device as they are made

  int reserved() const { return reserved_slots.value_or(num_scale_frames); }
  // Throws Error(bad_option) naming the option as typed: --window, --overlap-keyframes ...
  void validate() const;
};

}  // namespace skyfix
