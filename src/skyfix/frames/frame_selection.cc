#include "skyfix/frames/frame_selection.h"

#include <algorithm>
#include <cmath>

namespace skyfix {
namespace {

constexpr std::int64_t kLongestStep = 1'000'000'000;

std::int64_t step_of(const FrameSourceOptions& options, std::optional<double> frames_per_second) {
  std::int64_t thinned = 1;
  if (options.fps > 0) {
    if (!frames_per_second) {
      throw Error(Reason::bad_option,
                  "--fps needs to know how many frames a second the input has, and it does not "
                  "say: use --stride",
                  options.input);
    }
    const double ratio = std::round(*frames_per_second / options.fps);
    thinned = static_cast<std::int64_t>(std::clamp(ratio, 1.0, double(kLongestStep)));
  }
  return thinned * std::min(options.stride, kLongestStep);
}

}  // namespace

FrameSelection::FrameSelection(const FrameSourceOptions& options,
                               std::optional<double> frames_per_second)
    : first_(options.first), last_(options.last), step_(step_of(options, frames_per_second)) {}

bool FrameSelection::wants(std::int64_t index) const {
  return index >= first_ && !is_over(index) && (index - first_) % step_ == 0;
}

std::int64_t FrameSelection::count(std::int64_t frames) const {
  const std::int64_t end = last_ == -1 ? frames : std::min(last_, frames);
  return end < first_ ? 0 : (end - first_) / step_ + 1;
}

}  // namespace skyfix
