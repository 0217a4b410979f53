#include "skyfix/stream/gct_pose.h"

#include <algorithm>
#include <cmath>

namespace skyfix {

Eigen::Matrix3d gct_rotation(const GctPose& pose) {
  const double x = pose[3], y = pose[4], z = pose[5], w = pose[6];
  const double s = 2 / (x * x + y * y + z * z + w * w);
  Eigen::Matrix3d rotation;
  rotation << 1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w),
      s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w), s * (x * z - y * w),
      s * (y * z + x * w), 1 - s * (x * x + y * y);
  return rotation;
}

Eigen::Vector3d gct_centre(const GctPose& pose) { return {pose[0], pose[1], pose[2]}; }

std::array<double, 4> gct_quaternion(const Eigen::Matrix3d& m) {
  const double squares[4] = {1 + m(0, 0) - m(1, 1) - m(2, 2), 1 - m(0, 0) + m(1, 1) - m(2, 2),
                             1 - m(0, 0) - m(1, 1) + m(2, 2), 1 + m(0, 0) + m(1, 1) + m(2, 2)};
  const auto largest = std::max_element(std::begin(squares), std::end(squares)) - squares;
  // Twice the products of the largest component with each: one row of the outer product.
  Eigen::Vector4d row;
  switch (largest) {
    case 0:
      row << squares[0], m(1, 0) + m(0, 1), m(0, 2) + m(2, 0), m(2, 1) - m(1, 2);
      break;
    case 1:
      row << m(1, 0) + m(0, 1), squares[1], m(2, 1) + m(1, 2), m(0, 2) - m(2, 0);
      break;
    case 2:
      row << m(0, 2) + m(2, 0), m(2, 1) + m(1, 2), squares[2], m(1, 0) - m(0, 1);
      break;
    default:
      row << m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), squares[3];
  }
  constexpr double kLeastRoot = 0.1;
  row /= 2 * std::max(std::sqrt(std::max(squares[largest], 0.0)), kLeastRoot);
  if (row[3] < 0) row = -row;
  return {row[0], row[1], row[2], row[3]};
}

GctFocal gct_focal(const GctPose& pose, int width, int height) {
  return {width / 2.0 / std::tan(pose[8] / 2), height / 2.0 / std::tan(pose[7] / 2)};
}

double mean_displacement_px(const GctPose& pose, std::span<const float> depth, int width,
                            int height, const GctPose& other, int stride) {
  constexpr double kLeast = 1e-6;
  const GctFocal here = gct_focal(pose, width, height), there = gct_focal(other, width, height);
  const Eigen::Matrix3d back = gct_rotation(other).transpose();
  const Eigen::Matrix3d rotation = back * gct_rotation(pose);
  const Eigen::Vector3d translation = back * (gct_centre(pose) - gct_centre(other));
  const double cx = width / 2.0, cy = height / 2.0;
  double sum = 0;
  std::int64_t count = 0;
  for (int v = 0; v < height; v += stride) {
    for (int u = 0; u < width; u += stride) {
      const double d = depth[std::size_t(v) * width + u];
      const Eigen::Vector3d point =
          rotation * Eigen::Vector3d((u - cx) * d / here.x, (v - cy) * d / here.y, d) + translation;
      if (!(d > kLeast) || !(point.z() > kLeast)) continue;
      const double x = point.x() / point.z() * there.x + cx,
                   y = point.y() / point.z() * there.y + cy;
      sum += std::hypot(x - u, y - v);
      ++count;
    }
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace skyfix
