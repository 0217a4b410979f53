#include "skyfix/map/map_verify.h"

#include <algorithm>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/base/hash.h"

namespace skyfix {
namespace {

[[noreturn]] void fail(const Map& map, const std::string& path, const std::string& what) {
  throw Error(Reason::bad_map,
              "the table " + path + " " + what + ". Build the map again, or copy it again",
              map.folder() / path);
}

void verify_finite(const Map& map, const std::string& path, const auto& values) {
  const bool finite =
      std::all_of(values.begin(), values.end(), [](auto value) { return std::isfinite(value); });
  if (!finite) fail(map, path, "holds numbers that are not finite");
}

void verify_below(const Map& map, const std::string& path, std::span<const std::uint32_t> indices,
                  std::size_t limit) {
  const bool below =
      std::all_of(indices.begin(), indices.end(), [&](std::uint32_t i) { return i < limit; });
  if (!below) fail(map, path, "holds an index beyond " + std::to_string(limit));
}

void verify_poses(const Map& map) {
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    const Rigid3 pose = map.cam_from_map(i);
    // The comparison is false for NaN.
    const bool unit = std::abs(pose.rotation.norm() - 1) < 1e-6;
    if (!unit || !pose.translation.allFinite()) fail(map, "images/pose.npy", "holds no pose");
  }
}

void verify_features(const Map& map, const std::string& kind) {
  const MapFeatures features = map.features(kind);
  const auto path = [&](const char* name) { return map_manifest::feature_table(kind, name); };
  verify_below(map, path("point"), features.point, map.point_count());
  const auto all = map.observation_offset();
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    const auto rows = features.observation.subspan(features.offset[i],
                                                   features.offset[i + 1] - features.offset[i]);
    verify_below(map, path("observation"), rows, all[i + 1] - all[i]);
  }
  verify_finite(map, path("pixel"), features.pixel);
  verify_finite(map, path("descriptor"), features.descriptor);
}

}  // namespace

void verify_map(const Map& map, const map_manifest::Manifest& manifest) {
  for (const auto& [path, table] : manifest.tables) {
    if (sha256_hex_of_file(map.folder() / path) != table.sha256) {
      fail(map, path, "was changed: its SHA-256 is not the one in map.json");
    }
  }
  verify_poses(map);
  verify_finite(map, "points/xyz.npy", map.point_xyz());
  verify_finite(map, "points/error.npy", map.point_error_px());
  verify_below(map, "observations/point.npy", map.observation_point(), map.point_count());
  verify_finite(map, "observations/pixel.npy", map.observation_pixel());
  for (const std::string& kind : map.feature_kinds()) verify_features(map, kind);
  for (const std::string& kind : map.place_kinds()) {
    const MapPlaces places = map.places(kind);
    const std::string vocabulary = map_manifest::place_table(kind, "vocabulary");
    verify_finite(map, vocabulary, places.vocabulary);
    const std::string_view bytes(reinterpret_cast<const char*>(places.vocabulary.data()),
                                 places.vocabulary.size_bytes());
    if (sha256_hex(bytes) != places.vocabulary_hash) {
      fail(map, vocabulary, "is not the vocabulary whose hash map.json holds");
    }
    verify_finite(map, map_manifest::place_table(kind, "descriptor"), places.descriptor);
  }
}

}  // namespace skyfix
