#include <cmath>

#include "skyfix/report/export.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

// 8 decimals of a degree are 1.1 mm, 3 of a metre 1 mm: more would only look exact.
Json rounded(double value, double per_unit) {
  return std::isfinite(value) ? Json(std::round(value * per_unit) / per_unit) : Json(nullptr);
}
Json degrees(double value) { return rounded(value, 1e8); }
Json metres(double value) { return rounded(value, 1e3); }

Json position_json(const Wgs84& position) {
  return Json::array({degrees(position.longitude_deg), degrees(position.latitude_deg),
                      metres(position.h_ellipsoid)});
}

Json sigma(const FixPose& pose, int row) {
  if (!pose.covariance_enu) return nullptr;
  return rounded(std::sqrt((*pose.covariance_enu)(row, row)), 1e4);
}

void add_pose_properties(const FixPose& pose, const std::string& datum, Json& properties) {
  const char* names[] = {"sigma_e", "sigma_n", "sigma_u"};
  for (int row = 0; row < 3; ++row) properties[names[row]] = sigma(pose, row);
  const auto& angles = pose.orientation_ypr_ned;
  properties["heading"] = angles ? rounded(angles->yaw_deg, 1e4) : Json(nullptr);
  properties["pitch"] = angles ? rounded(angles->pitch_deg, 1e4) : Json(nullptr);
  properties["roll"] = angles ? rounded(angles->roll_deg, 1e4) : Json(nullptr);
  const Json height = metres(pose.position_wgs84->h_ellipsoid);
  properties["height_ellipsoid"] = datum == "ellipsoid" ? height : Json(nullptr);
  properties["height_msl"] = datum == "sea_level" ? height : Json(nullptr);
}

Json feature(Json geometry, Json properties) {
  Json json;
  json["type"] = "Feature";
  json["geometry"] = std::move(geometry);
  json["properties"] = std::move(properties);
  return json;
}

Json geometry(const char* type, Json coordinates) {
  Json json;
  json["type"] = type;
  json["coordinates"] = std::move(coordinates);
  return json;
}

Json frame_feature(const Record& record, const std::string& datum) {
  const Fix& fix = record.fix;
  Json properties;
  properties["name"] = utf8_text(fix.name);
  properties["time_ns"] = record.time_ns ? Json(*record.time_ns) : Json(nullptr);
  properties["status"] = fix_status_name(fix.status);
  properties["reason"] = fix.reason ? Json(reason_name(*fix.reason)) : Json(nullptr);
  properties["datum"] = datum;
  properties["inliers"] = fix.inliers;
  if (!fix.pose) return feature(nullptr, std::move(properties));
  add_pose_properties(*fix.pose, datum, properties);
  return feature(geometry("Point", position_json(*fix.pose->position_wgs84)),
                 std::move(properties));
}

// Pieces of the track between frames without a fix; a lone fix is no line.
Json track_feature(const std::vector<Record>& records) {
  Json lines = Json::array();
  Json line = Json::array();
  const auto end_line = [&] {
    if (line.size() >= 2) lines.push_back(line);
    line = Json::array();
  };
  for (const Record& record : records) {
    if (record.fix.pose) {
      line.push_back(position_json(*record.fix.pose->position_wgs84));
    } else {
      end_line();
    }
  }
  end_line();
  Json properties;
  properties["name"] = "track";
  if (lines.empty()) return feature(nullptr, std::move(properties));
  return feature(geometry("MultiLineString", std::move(lines)), std::move(properties));
}

}  // namespace

std::string export_geojson(const std::vector<Record>& records, const std::string& datum) {
  for (const Record& record : records) {
    if (!record.fix.pose || record.fix.pose->position_wgs84) continue;
    throw Error(Reason::missing_in_map,
                "GeoJSON needs positions on the earth, and the run's map has no georegistration: "
                "build the map with one and localize again");
  }
  Json features = Json::array();
  for (const Record& record : records) features.push_back(frame_feature(record, datum));
  features.push_back(track_feature(records));
  Json collection;
  collection["type"] = "FeatureCollection";
  collection["features"] = std::move(features);
  return json_line(collection) + "\n";
}

}  // namespace skyfix
