#include "skyfix/localize/turn.h"

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

namespace skyfix {

Eigen::Vector2f after_turn(const Eigen::Vector2f& pixel, int quarters, int width, int height) {
  const float x = pixel.x();
  const float y = pixel.y();
  const float w = static_cast<float>(width);
  const float h = static_cast<float>(height);
  switch (quarters & 3) {
    case 1:
      return {h - y, x};
    case 2:
      return {w - x, h - y};
    case 3:
      return {y, w - x};
    default:
      return pixel;
  }
}

Eigen::Vector2f before_turn(const Eigen::Vector2f& pixel, int quarters, int width, int height) {
  const bool upright = (quarters & 1) != 0;  // the turned picture has its sides exchanged
  return after_turn(pixel, 4 - (quarters & 3), upright ? height : width, upright ? width : height);
}

double turn_between_rad(const Rigid3& from_cam_from_map, const Rigid3& to_cam_from_map) {
  const Eigen::Matrix3d to_from =
      (to_cam_from_map.rotation * from_cam_from_map.rotation.conjugate()).toRotationMatrix();
  return std::atan2(to_from(1, 0) - to_from(0, 1), to_from(0, 0) + to_from(1, 1));
}

int quarters_of(double clockwise_rad) {
  return static_cast<int>(std::lround(clockwise_rad / (std::numbers::pi / 2))) & 3;
}

Rigid3 turned_camera(const Rigid3& cam_from_map, int quarters) {
  const Eigen::Quaterniond turn(
      Eigen::AngleAxisd(quarters * std::numbers::pi / 2, Eigen::Vector3d::UnitZ()));
  Rigid3 turned;
  turned.rotation = (turn * cam_from_map.rotation).normalized();
  turned.translation = turn * cam_from_map.translation;
  return turned;
}

}  // namespace skyfix
