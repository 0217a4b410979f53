// Fuzzes opening a map: the input's first byte chooses the file that it replaces, map.json or a
// table. Sizes and hashes are made to fit, so that the checks behind them are reached.
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/map/map_folder.h"
#include "skyfix/map/map_manifest.h"

namespace {

namespace fs = std::filesystem;
using namespace skyfix;

void write_map(const fs::path& folder) {
  ColmapModel model;
  model.cameras[CameraId(1)] = {CameraModel::simple_radial, 640, 480, {500, 320, 240, 0.01}};
  model.images.resize(1);
  model.images[0].id = ImageId(1);
  model.images[0].camera = CameraId(1);
  model.images[0].name = "a b.jpg";
  model.images[0].observations = {{{1, 2}, PointId(1)}};
  model.points.resize(1);
  model.points[0].id = PointId(1);
  model.points[0].xyz = {0, 0, 5};
  model.points[0].track = {{ImageId(1), 0}};
  MapWriter writer(model, georegistration_at_origin({46, -91, 0}, AltitudeDatum::ellipsoid));
  writer.add_features("sift", 2, {{{0}, {1, 2}, {1, 0}}});
  writer.add_places("vlad-sift", 1, 2, {1, 0}, {1, 0});
  writer.write(folder, true);
}

// The sound map, and what is needed to mend it after each run.
struct Sound {
  fs::path folder;
  fs::path file;  // map.json
  std::string json;
  map_manifest::Manifest manifest;
  std::vector<std::string> tables;

  Sound() : folder(fs::temp_directory_path() / ("skyfix-map-fuzz-" + std::to_string(::getpid()))) {
    write_map(folder);
    file = folder / map_manifest::kFileName;
    json = read_file(file);
    manifest = map_manifest::from_json(map_manifest::parse_json(json, file), file);
    for (const auto& [path, table] : manifest.tables) tables.push_back(path);
  }
  ~Sound() { fs::remove_all(folder); }
};

void open_and_touch(const fs::path& folder) {
  const Map map = Map::open(folder, true);
  // What a verified map hands out must be safe to follow.
  double sum = 0;
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    sum += map.cam_from_map(i).translation.x() + static_cast<double>(map.image_name(i).size());
    for (auto row = map.observation_offset()[i]; row < map.observation_offset()[i + 1]; ++row) {
      sum += map.point(map.observation_point()[row]).z() + map.observation_pixel()[2 * row];
    }
  }
  for (const std::string& kind : map.feature_kinds()) {
    const MapFeatures features = map.features(kind);
    for (const std::uint32_t point : features.point) sum += map.point(point).z();
  }
  if (std::isnan(sum)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Sound sound;
  if (size == 0) return 0;
  const std::string content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t choice = data[0] % (2 * sound.tables.size());
  try {
    if (choice < sound.tables.size()) {
      const std::string& path = sound.tables[choice];
      const std::string before = read_file(sound.folder / path);
      map_manifest::Manifest manifest = sound.manifest;
      manifest.tables[path] = {content.size(), sha256_hex(content)};
      write_file_atomic(sound.folder / path, content);
      write_file_atomic(sound.file, map_manifest::to_json(manifest).dump());
      try {
        open_and_touch(sound.folder);
      } catch (const Error&) {
      }
      write_file_atomic(sound.folder / path, before);
    } else {
      nlohmann::json object = map_manifest::parse_json(content, sound.file);
      object["content_hash"] =
          map_manifest::content_hash(map_manifest::from_json(object, sound.file));
      write_file_atomic(sound.file, object.dump());
      open_and_touch(sound.folder);
    }
  } catch (const Error&) {
    // Damaged input is refused; anything else escapes and is a find.
  }
  write_file_atomic(sound.file, sound.json);
  return 0;
}
