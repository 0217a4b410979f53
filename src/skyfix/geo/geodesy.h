// WGS84 <-> ECEF <-> local east-north-up, through GeographicLib; altitude datums; gimbal angles.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <string_view>

#include "skyfix/geo/rigid3.h"

namespace skyfix {

struct Wgs84 {
  double latitude_deg = 0;
  double longitude_deg = 0;
  double h_ellipsoid = 0;  // metres above the ellipsoid (or what the datum beside it says)
  // |lat| <= 90, |lon| <= 180, all finite.
  bool valid() const;
};

// What an altitude is measured from. Values of different datums are never mixed.
enum class AltitudeDatum { unknown, ellipsoid, sea_level, takeoff, as_recorded };
std::string_view altitude_datum_name(AltitudeDatum datum);
// Throws Error(bad_option).
AltitudeDatum altitude_datum_from_name(std::string_view name);

// Local tangent plane, metres, x east, y north, z up. A position that is not finite or lies
// beyond a pole gives NaN; longitudes may go round.
class EnuFrame {
 public:
  // Throws Error(bad_option) for an origin that is not valid().
  explicit EnuFrame(const Wgs84& origin);
  const Wgs84& origin() const { return origin_; }
  Eigen::Vector3d enu_from_wgs84(const Wgs84& position) const;
  Wgs84 wgs84_from_enu(const Eigen::Vector3d& enu) const;

 private:
  Wgs84 origin_;
  Eigen::Vector3d origin_ecef_;
  Eigen::Matrix3d enu_from_ecef_;
};

Eigen::Vector3d ecef_from_wgs84(const Wgs84& position);
Wgs84 wgs84_from_ecef(const Eigen::Vector3d& ecef);

// DJI-style gimbal angles: yaw clockwise from true north, pitch up positive (-90 = nadir), roll
// right side down; earth NED, order Z-Y-X. Degrees. (formats, drone tags)
struct GimbalAngles {
  double yaw_deg = 0;
  double pitch_deg = 0;
  double roll_deg = 0;
};
// Rotation from world ENU to the camera (x right, y down, z forward). Level and facing north is
// (w, x, y, z) = (0.7071, 0.7071, 0, 0); nadir with image-up north is (0, 1, 0, 0).
Eigen::Quaterniond cam_from_enu(const GimbalAngles& gimbal);
// The inverse, yaw and roll within [-180, 180], pitch within [-90, 90]; within 1e-7 rad of nadir
// (or zenith) roll is 0 and yaw takes the whole turn.
GimbalAngles gimbal_from_cam_from_enu(const Eigen::Quaterniond& cam_from_enu);

}  // namespace skyfix
