#include "skyfix/solve/planar.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace skyfix::solve {
namespace {

Eigen::Matrix3d reflection(const Eigen::Vector3d& axis) {
  return Eigen::Matrix3d::Identity() - 2 * axis * axis.transpose();
}

}  // namespace

std::optional<Plane> plane_of(const PairSet& pairs, std::span<const std::uint32_t> which,
                              const Camera& camera, const View& view, double rms_px) {
  if (which.size() < 4) return std::nullopt;
  const double count = static_cast<double>(which.size());
  Plane plane;
  plane.centroid.setZero();
  for (const std::uint32_t i : which) plane.centroid += pairs.point[i] / count;
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  for (const std::uint32_t i : which) {
    const Eigen::Vector3d offset = pairs.point[i] - plane.centroid;
    spread += offset * offset.transpose() / count;
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(spread);
  plane.normal = eigen.eigenvectors().col(0);
  const double deviation = std::sqrt(std::max(0.0, eigen.eigenvalues()[0]));
  const double depth = median_depth(pairs, which, view);
  if (!(depth > 0)) return std::nullopt;
  const double deviation_px = deviation / depth * std::max(camera.focal_x(), camera.focal_y());
  if (!(deviation_px <= std::max(1.0, 2 * rms_px))) return std::nullopt;
  return plane;
}

View mirrored_view(const View& view, const Plane& plane) {
  const Eigen::Vector3d sight = (view.cam_from_map * (plane.centroid - view.centre)).normalized();
  const Eigen::Vector3d centroid_cam = view.to_camera(plane.centroid);
  View out;
  // Mirroring depths about the centroid leaves a weak-perspective picture as it is; mirroring the
  // map in its own plane moves none of the points and makes the product a rotation.
  out.cam_from_map = reflection(sight) * view.cam_from_map * reflection(plane.normal);
  out.centre = plane.centroid - out.cam_from_map.transpose() * centroid_cam;
  return out;
}

}  // namespace skyfix::solve
