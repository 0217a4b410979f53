// Rigid motions and similarities, named by both frames: `b_from_a * x_in_a = x_in_b`, and
// compositions read as chains of equal neighbours: c_from_b * b_from_a = c_from_a.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <span>

namespace skyfix {

// x_b = rotation * x_a + translation. The quaternion is unit, Hamilton; files write it w first.
struct Rigid3 {
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();

  Eigen::Vector3d operator*(const Eigen::Vector3d& x) const { return rotation * x + translation; }
  Rigid3 operator*(const Rigid3& b) const {
    return {(rotation * b.rotation).normalized(), rotation * b.translation + translation};
  }
  Rigid3 inverse() const {
    const Eigen::Quaterniond back = rotation.conjugate();
    return {back, -(back * translation)};
  }
  // For a cam_from_world: the camera's centre in the world.
  Eigen::Vector3d centre() const { return -(rotation.conjugate() * translation); }
};

// x_b = scale * (rotation * x_a) + translation.
struct Similarity3 {
  double scale = 1;
  Eigen::Quaterniond rotation = Eigen::Quaterniond::Identity();
  Eigen::Vector3d translation = Eigen::Vector3d::Zero();

  Eigen::Vector3d operator*(const Eigen::Vector3d& x) const {
    return scale * (rotation * x) + translation;
  }
  Similarity3 inverse() const;
};

// Least-squares similarity with b ~ similarity * a (Umeyama 1991). Needs at least 3 pairs that are
// not on a line: otherwise the result has scale 0. Columns are not weighted.
Similarity3 fit_similarity(std::span<const Eigen::Vector3d> a, std::span<const Eigen::Vector3d> b);

// Angle between two rotations, radians, in [0, pi].
double rotation_angle(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b);

}  // namespace skyfix
