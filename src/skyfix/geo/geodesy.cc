#include "skyfix/geo/geodesy.h"

#include <GeographicLib/Geocentric.hpp>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr double kRadians = std::numbers::pi / 180;
// Within this of the vertical (radians) yaw and roll turn about one axis.
constexpr double kVertical = 1e-7;

struct DatumName {
  AltitudeDatum datum;
  std::string_view name;
};
constexpr std::array<DatumName, 5> kDatumNames = {{{AltitudeDatum::unknown, "unknown"},
                                                   {AltitudeDatum::ellipsoid, "ellipsoid"},
                                                   {AltitudeDatum::sea_level, "sea_level"},
                                                   {AltitudeDatum::takeoff, "takeoff"},
                                                   {AltitudeDatum::as_recorded, "as_recorded"}}};

// Body axes of the gimbal: x forward, y right, z down.
Eigen::Matrix3d cam_from_body() {
  return (Eigen::Matrix3d() << 0, 1, 0, 0, 0, 1, 1, 0, 0).finished();
}
Eigen::Matrix3d ned_from_enu() {
  return (Eigen::Matrix3d() << 0, 1, 0, 1, 0, 0, 0, 0, -1).finished();
}

Eigen::Matrix3d about(const Eigen::Vector3d& axis, double angle_deg) {
  return Eigen::AngleAxisd(angle_deg * kRadians, axis).toRotationMatrix();
}

}  // namespace

bool Wgs84::valid() const {
  return std::isfinite(h_ellipsoid) && std::abs(latitude_deg) <= 90 &&
         std::abs(longitude_deg) <= 180;
}

std::string_view altitude_datum_name(AltitudeDatum datum) {
  for (const DatumName& known : kDatumNames) {
    if (known.datum == datum) return known.name;
  }
  return "unknown";
}

AltitudeDatum altitude_datum_from_name(std::string_view name) {
  std::string names;
  for (const DatumName& known : kDatumNames) {
    if (known.name == name) return known.datum;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  throw Error(Reason::bad_option,
              "'" + std::string(name) + "' is not an altitude datum; use one of " + names);
}

Eigen::Vector3d ecef_from_wgs84(const Wgs84& position) {
  Eigen::Vector3d ecef;
  GeographicLib::Geocentric::WGS84().Forward(position.latitude_deg, position.longitude_deg,
                                             position.h_ellipsoid, ecef.x(), ecef.y(), ecef.z());
  return ecef;
}

Wgs84 wgs84_from_ecef(const Eigen::Vector3d& ecef) {
  Wgs84 position;
  GeographicLib::Geocentric::WGS84().Reverse(ecef.x(), ecef.y(), ecef.z(), position.latitude_deg,
                                             position.longitude_deg, position.h_ellipsoid);
  return position;
}

EnuFrame::EnuFrame(const Wgs84& origin) : origin_(origin) {
  if (!origin.valid()) {
    throw Error(Reason::bad_option,
                "the local frame's origin (" + std::to_string(origin.latitude_deg) + ", " +
                    std::to_string(origin.longitude_deg) + ", " +
                    std::to_string(origin.h_ellipsoid) +
                    ") is not a place: give latitude within 90, longitude within 180 degrees");
  }
  std::vector<double> ecef_from_enu(9);  // row-major, as GeographicLib hands it out
  GeographicLib::Geocentric::WGS84().Forward(origin.latitude_deg, origin.longitude_deg,
                                             origin.h_ellipsoid, origin_ecef_.x(), origin_ecef_.y(),
                                             origin_ecef_.z(), ecef_from_enu);
  // Read by columns, the row-major matrix is its transpose, which is its inverse.
  enu_from_ecef_ = Eigen::Map<const Eigen::Matrix3d>(ecef_from_enu.data());
}

Eigen::Vector3d EnuFrame::enu_from_wgs84(const Wgs84& position) const {
  return enu_from_ecef_ * (ecef_from_wgs84(position) - origin_ecef_);
}

Wgs84 EnuFrame::wgs84_from_enu(const Eigen::Vector3d& enu) const {
  return wgs84_from_ecef(enu_from_ecef_.transpose() * enu + origin_ecef_);
}

Eigen::Quaterniond cam_from_enu(const GimbalAngles& gimbal) {
  const Eigen::Matrix3d ned_from_body = about(Eigen::Vector3d::UnitZ(), gimbal.yaw_deg) *
                                        about(Eigen::Vector3d::UnitY(), gimbal.pitch_deg) *
                                        about(Eigen::Vector3d::UnitX(), gimbal.roll_deg);
  const Eigen::Matrix3d rotation = cam_from_body() * ned_from_body.transpose() * ned_from_enu();
  return Eigen::Quaterniond(rotation).normalized();
}

GimbalAngles gimbal_from_cam_from_enu(const Eigen::Quaterniond& cam_from_enu) {
  const Eigen::Matrix3d enu_from_cam = cam_from_enu.normalized().conjugate().toRotationMatrix();
  const Eigen::Matrix3d ned_from_body = ned_from_enu() * enu_from_cam * cam_from_body();
  const Eigen::Vector3d forward = ned_from_body.col(0);
  const double level = std::hypot(forward.x(), forward.y());
  const double pitch = std::atan2(-forward.z(), level);
  if (level < kVertical) {
    const double yaw = std::atan2(-ned_from_body(0, 1), ned_from_body(1, 1));
    return {yaw / kRadians, pitch / kRadians, 0};
  }
  const double yaw = std::atan2(forward.y(), forward.x());
  // Roll from what the yaw leaves over: near the vertical, where the yaw is uncertain, the two then
  // still make up the same rotation.
  const Eigen::Vector3d across(-std::sin(yaw), std::cos(yaw), 0);
  const double roll =
      std::atan2(-across.dot(ned_from_body.col(2)), across.dot(ned_from_body.col(1)));
  return {yaw / kRadians, pitch / kRadians, roll / kRadians};
}

}  // namespace skyfix
