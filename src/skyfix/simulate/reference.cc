#include "skyfix/simulate/reference.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

namespace skyfix::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kRadian = 180 / std::numbers::pi;

Json numbers_of(const Eigen::Vector3d& v) { return {v.x(), v.y(), v.z()}; }

// w, x, y, z with w >= 0.
Json quaternion_wxyz(const Eigen::Quaterniond& q) {
  const double sign = q.w() < 0 ? -1 : 1;
  return {sign * q.w(), sign * q.x(), sign * q.y(), sign * q.z()};
}

Json wgs84(const Wgs84& p) {
  return {{"latitude_deg", p.latitude_deg},
          {"longitude_deg", p.longitude_deg},
          {"altitude_m", p.h_ellipsoid}};
}

Json camera_json(const Camera& camera) {
  return {{"model", camera_model_name(camera.model)},
          {"width", camera.width},
          {"height", camera.height},
          {"params", camera.params}};
}

Json query_json(const SimulatedPhoto& photo, const Camera& camera, const EnuFrame& enu) {
  const Rigid3& pose = photo.cam_from_enu;
  const Eigen::Vector3d centre = pose.centre();
  const Eigen::Vector3d image_up = pose.rotation.conjugate() * -Eigen::Vector3d::UnitY();
  const Eigen::Vector3d ahead = pose.rotation.conjugate() * Eigen::Vector3d::UnitZ();
  const double azimuth = std::atan2(image_up.x(), image_up.y()) * kRadian;
  Json json = {{"file", std::string(kQueryImages) + "/" + photo.name},
               {"camera", camera_json(camera)},
               {"world_to_camera",
                {{"quaternion_wxyz", quaternion_wxyz(pose.rotation)},
                 {"translation", numbers_of(pose.translation)}}},
               {"centre_enu_m", numbers_of(centre)}};
  json.update(wgs84(enu.wgs84_from_enu(centre)));
  json["image_up_azimuth_deg"] = azimuth < 0 ? azimuth + 360 : azimuth;
  json["tilt_from_nadir_deg"] = std::acos(std::clamp(-ahead.z(), -1.0, 1.0)) * kRadian;
  json["gps_exif"] = wgs84(photo.gps);
  json["gps_exif"]["enu_m"] = numbers_of(enu.enu_from_wgs84(photo.gps));
  return json;
}

}  // namespace

std::string reference_json(const SimulatedFlight& flight) {
  Json json = {{"format", "skyfix-reference"}, {"version", 1}};
  json["frame"] = {{"kind", "local east-north-up, metres"},
                   {"origin_wgs84", wgs84(flight.origin)},
                   {"altitude_reference", "above the WGS84 ellipsoid, in the photos' EXIF too"},
                   {"ellipsoid", "WGS84"}};
  json["conventions"] = {
      {"pose",
       "x_camera = R(q) * x_world + t; q is w,x,y,z with w >= 0; camera axes x right, y down, "
       "z forward"},
      {"pixels",
       "COLMAP: the centre of the top-left pixel is (0.5, 0.5); x right, y down; units are pixels "
       "of the stored picture unless an entry says otherwise"},
      {"camera", "SIMPLE_RADIAL params are f, cx, cy, k"}};
  json["dataset"] = "simulated";
  json["map"] = {{"images", kMapImages}, {"model", kModel}};
  for (const SimulatedPhoto& photo : flight.map_photos) json["map"]["names"].push_back(photo.name);
  json["accuracy"] = "exact: the photos were rendered from these poses";
  json["queries"] = Json::object();
  const EnuFrame enu(flight.origin);
  for (const SimulatedPhoto& photo : flight.query_photos) {
    json["queries"][photo.name] = query_json(photo, flight.camera, enu);
  }
  return json.dump(1) + "\n";
}

}  // namespace skyfix::sim
