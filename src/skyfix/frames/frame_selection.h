// Which frames of an input are worked on: a range, then every n-th of it.
#pragma once

#include <cstdint>
#include <optional>

#include "skyfix/frames/frame_source.h"

namespace skyfix {

class FrameSelection {
 public:
  // `frames_per_second`: of the source. Throws Error(bad_option) when --fps is given and the rate
  // is not known.
  FrameSelection(const FrameSourceOptions& options, std::optional<double> frames_per_second);

  // Of a frame's index, from 1.
  bool wants(std::int64_t index) const;
  // No frame from `index` on is wanted.
  bool is_over(std::int64_t index) const { return last_ != -1 && index > last_; }
  // How many of `frames` are wanted.
  std::int64_t count(std::int64_t frames) const;
  std::int64_t step() const { return step_; }

 private:
  std::int64_t first_;
  std::int64_t last_;
  std::int64_t step_;
};

}  // namespace skyfix
