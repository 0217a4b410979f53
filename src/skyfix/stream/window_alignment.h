// How a window of a windowed run is laid on the one before it (specification: gctstream.md section
// 11): scale from the depth that both predict for the frames they share, rotation and translation
// from the last of these that both remember.
#pragma once

#include <Eigen/Core>
#include <span>

#include "skyfix/stream/session.h"

namespace skyfix {

// x_before = scale * rotation * x_window + translation.
struct WindowTransform {
  double scale = 1;
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();
};

// `before`: the shared frames as the aligned previous window has them; `now`: the same frames as
// this window predicts them. Equally many; none gives the identity. Of the result window,
// first_frame and frames are left to the caller.
WindowAlignment align_window(std::span<const StreamPrediction> before,
                             std::span<const StreamPrediction> now, WindowTransform& transform);

// Pose, depth and points of a prediction, in place.
void apply(const WindowTransform& transform, StreamPrediction& prediction);

// Lower median of before / now over pixels where both are finite and `now` is not 0; 1 where there
// are none; within [1e-3, 1e3].
double depth_ratio(std::span<const StreamPrediction* const> before,
                   std::span<const StreamPrediction* const> now, std::int64_t* samples);

}  // namespace skyfix
