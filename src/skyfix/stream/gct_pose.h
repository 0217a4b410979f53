// The pose that the network predicts, as rotation and centre (specification: gctstream.md section
// 9), and pictures' motion between two poses (section 11).
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <span>

namespace skyfix {

// t, q (x y z w), vertical and horizontal field of view: as StreamPrediction::pose.
using GctPose = std::array<double, 9>;

// world_from_camera; the quaternion need not be of unit length.
Eigen::Matrix3d gct_rotation(const GctPose& pose);
Eigen::Vector3d gct_centre(const GctPose& pose);
// x y z w with w >= 0.
std::array<double, 4> gct_quaternion(const Eigen::Matrix3d& rotation);

struct GctFocal {
  double x = 0, y = 0;  // network px; not finite for a field of view of 0
};
GctFocal gct_focal(const GctPose& pose, int width, int height);

// Mean displacement in px of a frame's pixels, seen from `other`: every `stride`-th pixel each way
// with a depth above 1e-6 that lies in front of `other` by more than 1e-6; 0 where there is none.
double mean_displacement_px(const GctPose& pose, std::span<const float> depth, int width,
                            int height, const GctPose& other, int stride = 8);

}  // namespace skyfix
