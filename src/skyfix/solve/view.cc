#include "skyfix/solve/view.h"

#include <cmath>
#include <numbers>

namespace skyfix::solve {
namespace {

Eigen::Matrix3d cross_matrix(const Eigen::Vector3d& v) {
  Eigen::Matrix3d m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

}  // namespace

View view_from_pose(const Rigid3& cam_from_map) {
  return {cam_from_map.rotation.normalized().toRotationMatrix(), cam_from_map.centre()};
}

Rigid3 pose_from_view(const View& view) {
  Rigid3 pose;
  pose.rotation = Eigen::Quaterniond(view.cam_from_map).normalized();
  pose.translation = -(pose.rotation * view.centre);
  return pose;
}

Eigen::Quaterniond rotation_from_vector(const Eigen::Vector3d& w) {
  const double angle = w.norm();
  // sin(angle / 2) / angle, by its series where the quotient would be 0 / 0.
  const double k = angle < 1e-6 ? 0.5 - angle * angle / 48 : std::sin(angle / 2) / angle;
  return Eigen::Quaterniond(std::cos(angle / 2), k * w.x(), k * w.y(), k * w.z()).normalized();
}

View moved(const View& view, const Vector6& step) {
  const Eigen::Quaterniond map_from_cam(view.cam_from_map.transpose());
  const Eigen::Quaterniond turned = rotation_from_vector(step.tail<3>()) * map_from_cam;
  return {turned.normalized().toRotationMatrix().transpose(), view.centre + step.head<3>()};
}

std::optional<Linearised> linearise(const Camera& camera, const View& view,
                                    const Eigen::Vector3d& point) {
  Matrix23 by_camera_point;
  const std::optional<Eigen::Vector2d> pixel =
      camera.project(view.to_camera(point), &by_camera_point, nullptr);
  if (!pixel || !by_camera_point.allFinite()) return std::nullopt;
  Linearised out;
  out.pixel = *pixel;
  out.by_point = by_camera_point * view.cam_from_map;
  out.by_view.leftCols<3>() = -out.by_point;
  // R exp(-w) (x - c): the derivative at w = 0 is R [x - c]_x.
  out.by_view.rightCols<3>() = out.by_point * cross_matrix(point - view.centre);
  return out;
}

bool clearly_different(const View& a, const View& b, double scene_distance) {
  constexpr double kCentreShare = 0.05;
  constexpr double kAngle = 5 * std::numbers::pi / 180;
  if ((a.centre - b.centre).norm() > kCentreShare * scene_distance) return true;
  return rotation_angle(Eigen::Quaterniond(a.cam_from_map), Eigen::Quaterniond(b.cam_from_map)) >
         kAngle;
}

}  // namespace skyfix::solve
