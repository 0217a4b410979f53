#include "skyfix/map/map_manifest.h"

#include <algorithm>

#include "skyfix/base/hash.h"
#include "skyfix/base/version.h"

namespace skyfix::map_manifest {

using nlohmann::json;

namespace {

const char* kind_word(Georegistration::Kind kind) {
  switch (kind) {
    case Georegistration::Kind::given_origin:
      return "given_origin";
    case Georegistration::Kind::gps_fit:
      return "gps_fit";
    case Georegistration::Kind::none:
      break;
  }
  return "none";
}

json cameras_json(const Manifest& manifest) {
  json list = json::array();
  for (const MapCamera& entry : manifest.cameras) {
    list.push_back({{"id", entry.id.value},
                    {"model", camera_model_name(entry.camera.model)},
                    {"width", entry.camera.width},
                    {"height", entry.camera.height},
                    {"params", entry.camera.params},
                    {"exif_make", entry.make},
                    {"exif_model", entry.model}});
  }
  return list;
}

json georegistration_json(const Georegistration& known) {
  json object = {{"kind", kind_word(known.kind)}};
  if (!known.known()) return object;
  const auto& q = known.enu_from_map.rotation;
  const auto& t = known.enu_from_map.translation;
  object["enu_from_map"] = {{"scale", known.enu_from_map.scale},
                            {"q_wxyz", {q.w(), q.x(), q.y(), q.z()}},
                            {"t", {t.x(), t.y(), t.z()}}};
  object["origin"] = {{"latitude_deg", known.origin.latitude_deg},
                      {"longitude_deg", known.origin.longitude_deg},
                      {"height_m", known.origin.h_ellipsoid}};
  object["datum"] = altitude_datum_name(known.datum);
  if (known.kind == Georegistration::Kind::gps_fit) {
    object["photos_used"] = known.photos_used;
    object["photos_rejected"] = known.photos_rejected;
    object["rms_horizontal_m"] = known.rms_horizontal_m;
    object["rms_vertical_m"] = known.rms_vertical_m;
    object["max_residual_m"] = known.max_residual_m;
  }
  return object;
}

// Text that is not UTF-8 (EXIF of unknown makers) must not stop a map from being written.
std::string dump(const json& value, int indent = -1) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string content_hash(const Manifest& manifest) {
  std::string text;
  for (const auto& [path, table] : manifest.tables) text += path + " " + table.sha256 + "\n";
  for (const auto& [kind, entry] : manifest.places)
    text += kind + " " + entry.vocabulary_hash + "\n";
  text += dump(cameras_json(manifest)) + "\n";
  text += dump(georegistration_json(manifest.georegistration)) + "\n";
  return sha256_hex(text);
}

json to_json(const Manifest& manifest) {
  json object = {
      {"format", kFormat},
      {"version", kMapVersion},
      {"skyfix_version", version()},
      {"content_hash", content_hash(manifest)},
      {"units", manifest.georegistration.known() ? "metres" : "arbitrary"},
      {"counts",
       {{"images", manifest.images},
        {"points", manifest.points},
        {"observations", manifest.observations}}},
      {"cameras", cameras_json(manifest)},
      {"georegistration", georegistration_json(manifest.georegistration)},
      {"features", json::object()},
      {"places", json::object()},
      {"tables", json::object()},
      {"notes", manifest.notes},
  };
  for (const auto& [kind, entry] : manifest.features) {
    object["features"][kind] = {{"dimension", entry.dimension}};
  }
  for (const auto& [kind, entry] : manifest.places) {
    object["places"][kind] = {{"clusters", entry.clusters},
                              {"local_dimension", entry.local_dimension},
                              {"vocabulary_hash", entry.vocabulary_hash}};
  }
  for (const auto& [path, table] : manifest.tables) {
    object["tables"][path] = {{"bytes", table.bytes}, {"sha256", table.sha256}};
  }
  return json::parse(dump(object));
}

bool is_kind_name(std::string_view kind) {
  return !kind.empty() && std::all_of(kind.begin(), kind.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

std::string feature_table(std::string_view kind, std::string_view name) {
  return "features/" + std::string(kind) + "/" + std::string(name) + ".npy";
}

std::string place_table(std::string_view kind, std::string_view name) {
  return "places/" + std::string(kind) + "/" + std::string(name) + ".npy";
}

}  // namespace skyfix::map_manifest
