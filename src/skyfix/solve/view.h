// The camera's place as the solvers hold it: rotation matrix and centre, and the errors seen from
// it. One tangent serves everything here (optimisation and covariance): the centre in map units,
// then a rotation vector w in map axes, R_map_from_cam <- exp(w) R_map_from_cam.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <optional>

#include "skyfix/geo/camera.h"
#include "skyfix/geo/rigid3.h"

namespace skyfix::solve {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Matrix23 = Eigen::Matrix<double, 2, 3>;
using Matrix26 = Eigen::Matrix<double, 2, 6>;

// x_cam = cam_from_map * (x_map - centre). Differences first: exact to rounding far from the
// origin.
struct View {
  Eigen::Matrix3d cam_from_map = Eigen::Matrix3d::Identity();
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();

  Eigen::Vector3d to_camera(const Eigen::Vector3d& point) const {
    return cam_from_map * (point - centre);
  }
  bool finite() const { return cam_from_map.allFinite() && centre.allFinite(); }
};

View view_from_pose(const Rigid3& cam_from_map);
Rigid3 pose_from_view(const View& view);

// exp of a rotation vector as a quaternion.
Eigen::Quaterniond rotation_from_vector(const Eigen::Vector3d& w);
// The view after a step in the tangent.
View moved(const View& view, const Vector6& step);

// Squared distance in pixels between a pixel and where the point projects; infinite where the point
// does not project.
inline double squared_error_px(const Camera& camera, const View& view, const Eigen::Vector3d& point,
                               const Eigen::Vector2d& pixel) {
  const std::optional<Eigen::Vector2d> seen = camera.project(view.to_camera(point));
  if (!seen) return std::numeric_limits<double>::infinity();
  const double squared = (*seen - pixel).squaredNorm();
  return squared == squared ? squared : std::numeric_limits<double>::infinity();
}

// Pixel of a point and its derivatives by the tangent of the view and by the point.
struct Linearised {
  Eigen::Vector2d pixel;
  Matrix26 by_view;
  Matrix23 by_point;
};
std::optional<Linearised> linearise(const Camera& camera, const View& view,
                                    const Eigen::Vector3d& point);

// `a` and `b` differ by more than 5 degrees, or their centres by more than 5 % of the distance to
// the scene: a user would call them two answers, not one.
bool clearly_different(const View& a, const View& b, double scene_distance);

}  // namespace skyfix::solve
