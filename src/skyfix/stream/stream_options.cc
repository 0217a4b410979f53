#include "skyfix/stream/stream_options.h"

#include <spdlog/fmt/fmt.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

void check(const char* option, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw Error(Reason::bad_option,
              fmt::format("{} is {}; allowed is {} to {}", option, value, least, most));
}

}  // namespace

std::string_view stream_mode_name(StreamMode mode) {
  return mode == StreamMode::streaming ? "streaming" : "windowed";
}

StreamMode stream_mode_from_name(std::string_view name) {
  for (const StreamMode mode : {StreamMode::streaming, StreamMode::windowed}) {
    if (name == stream_mode_name(mode)) return mode;
  }
  throw Error(Reason::bad_option,
              fmt::format("--mode is '{}'; allowed is streaming or windowed", name));
}

std::string_view frame_role_name(FrameRole role) {
  switch (role) {
    case FrameRole::scale:
      return "scale";
    case FrameRole::keyframe:
      return "keyframe";
    case FrameRole::non_keyframe:
      return "non_keyframe";
  }
  return "";
}

void StreamOptions::validate() const {
  constexpr std::int64_t kMany = 1'000'000;
  check("--num-scale-frames", num_scale_frames, 1, 1'000);
  check("--window", window, 1, kMany);
  check("reserved slots", reserved(), 0, kMany);
  check("--keyframe-interval", keyframe_interval, 0, kMany);
  check("--max-keyframe-gap", max_non_keyframe_gap, 1, kMany);
  check("--window-size", window_frames, 1, kMany);
  if (overlap_keyframes) check("--overlap-keyframes", *overlap_keyframes, 0, kMany);
  if (overlap_frames) check("--overlap-size", *overlap_frames, 0, kMany);
  if (!(motion_px >= 0 && motion_px < 1e6)) {
    throw Error(Reason::bad_option,
                fmt::format("--keyframe-motion is {}; allowed is 0 (off) or more", motion_px));
  }
}

}  // namespace skyfix
