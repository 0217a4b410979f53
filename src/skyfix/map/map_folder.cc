#include "skyfix/map/map_folder.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <tuple>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/map/map_manifest.h"
#include "skyfix/map/map_verify.h"

namespace skyfix {
namespace fs = std::filesystem;

using map_manifest::Manifest;

struct Map::Data {
  fs::path folder;
  nlohmann::json json;
  Manifest manifest;
  std::string content_hash;
  std::vector<NpyFile> tables;  // what the spans look into

  std::span<const std::uint32_t> image_id;
  std::span<const std::uint32_t> image_camera;
  std::span<const double> image_pose;
  std::span<const std::uint64_t> image_name_offset;
  std::span<const std::uint8_t> image_name;

  std::span<const std::uint64_t> point_id;
  std::span<const double> point_xyz;
  std::span<const std::uint8_t> point_rgb;
  std::span<const float> point_error_px;
  std::span<const std::uint32_t> point_track_length;

  std::span<const std::uint64_t> observation_offset;
  std::span<const std::uint32_t> observation_point;
  std::span<const double> observation_pixel;

  std::map<std::string, MapFeatures, std::less<>> features;
  std::map<std::string, MapPlaces, std::less<>> places;

  void open_tables();
  void require_cameras() const;  // of all images
  const MapCamera* find_camera(CameraId id) const;
};

namespace {

[[noreturn]] void fail(const fs::path& file, const std::string& what) {
  throw Error(Reason::bad_map, what + ". Build the map again, or copy it again", file);
}

// Opens tables against what map.json says of them. Nothing but headers and offsets is read.
class TableOpener {
 public:
  TableOpener(const fs::path& folder, const Manifest& manifest, std::vector<NpyFile>& opened)
      : folder_(folder), manifest_(manifest), opened_(opened) {}

  static constexpr std::uint64_t kAnyRows = ~std::uint64_t{0};

  // A vector of `rows` elements.
  template <class T>
  std::span<const T> vector(const std::string& path, std::uint64_t rows) {
    return open(path, rows, {}).template as<T>();
  }
  // A matrix of `rows` rows of `row_size` elements.
  template <class T>
  std::span<const T> matrix(const std::string& path, std::uint64_t rows, std::size_t row_size) {
    return open(path, rows, row_size).template as<T>();
  }
  // images + 1 positions that begin at 0, never fall and end at `end`.
  std::span<const std::uint64_t> offsets(const std::string& path, std::uint64_t end) {
    const auto offset = vector<std::uint64_t>(path, manifest_.images + 1);
    if (offset.front() != 0 || offset.back() != end ||
        !std::is_sorted(offset.begin(), offset.end())) {
      fail(folder_ / path, path + ": the offsets do not rise from 0 to " + std::to_string(end));
    }
    return offset;
  }
  // Every table that map.json lists must be one that was asked for.
  void require_all_opened() const {
    for (const auto& [path, table] : manifest_.tables) {
      if (std::find(paths_.begin(), paths_.end(), path) == paths_.end()) {
        fail(folder_ / map_manifest::kFileName, "map.json lists an unknown table " + path);
      }
    }
  }

 private:
  const NpyFile& open(const std::string& path, std::uint64_t rows,
                      std::optional<std::size_t> row_size) {
    const auto listed = manifest_.tables.find(path);
    if (listed == manifest_.tables.end()) {
      fail(folder_ / map_manifest::kFileName, "map.json does not list the table " + path);
    }
    const fs::path file = folder_ / path;
    std::error_code failure;
    const std::uint64_t bytes = fs::file_size(file, failure);
    if (failure) fail(file, "the table " + path + " is missing (" + failure.message() + ")");
    if (bytes != listed->second.bytes) {
      fail(file, "the table " + path + " has " + std::to_string(bytes) + " bytes, map.json says " +
                     std::to_string(listed->second.bytes));
    }
    NpyFile table(file);
    const std::size_t dimensions = row_size ? 2 : 1;
    if (table.shape().size() != dimensions || (rows != kAnyRows && table.rows() != rows) ||
        (row_size && table.row_size() != *row_size)) {
      fail(file, "the table " + path + " does not have the shape that map.json asks for");
    }
    opened_.push_back(std::move(table));
    paths_.push_back(path);
    return opened_.back();
  }

  const fs::path& folder_;
  const Manifest& manifest_;
  std::vector<NpyFile>& opened_;
  std::vector<std::string> paths_;
};

MapFeatures open_features(TableOpener& tables, const std::string& kind, int dimension) {
  const auto path = [&](const char* name) { return map_manifest::feature_table(kind, name); };
  MapFeatures features;
  features.kind = kind;
  features.dimension = dimension;
  features.point = tables.vector<std::uint32_t>(path("point"), TableOpener::kAnyRows);
  const std::uint64_t rows = features.point.size();
  features.offset = tables.offsets(path("offset"), rows);
  features.observation = tables.vector<std::uint32_t>(path("observation"), rows);
  features.pixel = tables.matrix<float>(path("pixel"), rows, 2);
  features.descriptor = tables.matrix<float>(path("descriptor"), rows, dimension);
  return features;
}

MapPlaces open_places(TableOpener& tables, const std::string& kind,
                      const map_manifest::PlaceKind& entry, std::uint64_t images) {
  MapPlaces places;
  places.kind = kind;
  places.clusters = entry.clusters;
  places.local_dimension = entry.local_dimension;
  places.vocabulary_hash = entry.vocabulary_hash;
  places.vocabulary = tables.matrix<float>(map_manifest::place_table(kind, "vocabulary"),
                                           entry.clusters, entry.local_dimension);
  places.descriptor =
      tables.matrix<float>(map_manifest::place_table(kind, "descriptor"), images,
                           static_cast<std::size_t>(entry.clusters) * entry.local_dimension);
  return places;
}

std::vector<std::string> keys_of(const auto& table) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : table) keys.push_back(key);
  return keys;
}

[[noreturn]] void fail_missing(const std::string& what, std::string_view kind,
                               const std::vector<std::string>& there, const fs::path& folder) {
  std::string list;
  for (const std::string& name : there) list += (list.empty() ? "" : ", ") + name;
  throw Error(Reason::missing_in_map,
              "the map has no " + what + " '" + std::string(kind) + "'; it has " +
                  (list.empty() ? "none" : list) + ". Build the map with them",
              folder);
}

nlohmann::json read_manifest(const fs::path& folder) {
  const fs::path file = folder / map_manifest::kFileName;
  if (!fs::exists(folder)) {
    throw Error(Reason::unreadable_file, "there is no such map folder", folder);
  }
  if (!fs::exists(file)) {
    throw Error(Reason::bad_map, "the folder holds no map.json: this is not a map folder", folder);
  }
  const MappedFile mapped(file);
  return map_manifest::parse_json(mapped.text(), file);
}

}  // namespace

void Map::Data::open_tables() {
  const auto& [images, points, observations] =
      std::tie(manifest.images, manifest.points, manifest.observations);

  TableOpener open(folder, manifest, tables);
  image_id = open.vector<std::uint32_t>("images/id.npy", images);
  image_camera = open.vector<std::uint32_t>("images/camera.npy", images);
  image_pose = open.matrix<double>("images/pose.npy", images, 7);
  image_name = open.vector<std::uint8_t>("images/name.npy", TableOpener::kAnyRows);
  image_name_offset = open.offsets("images/name_offset.npy", image_name.size());
  point_id = open.vector<std::uint64_t>("points/id.npy", points);
  point_xyz = open.matrix<double>("points/xyz.npy", points, 3);
  point_rgb = open.matrix<std::uint8_t>("points/rgb.npy", points, 3);
  point_error_px = open.vector<float>("points/error.npy", points);
  point_track_length = open.vector<std::uint32_t>("points/track_length.npy", points);
  observation_offset = open.offsets("observations/offset.npy", observations);
  observation_point = open.vector<std::uint32_t>("observations/point.npy", observations);
  observation_pixel = open.matrix<double>("observations/pixel.npy", observations, 2);
  for (const auto& [kind, entry] : manifest.features) {
    features[kind] = open_features(open, kind, entry.dimension);
  }
  for (const auto& [kind, entry] : manifest.places) {
    places[kind] = open_places(open, kind, entry, images);
  }
  open.require_all_opened();
}

const MapCamera* Map::Data::find_camera(CameraId id) const {
  const auto& all = manifest.cameras;
  const auto at = std::lower_bound(all.begin(), all.end(), id,
                                   [](const MapCamera& a, CameraId b) { return a.id < b; });
  return at == all.end() || at->id != id ? nullptr : &*at;
}

void Map::Data::require_cameras() const {
  for (const std::uint32_t id : image_camera) {
    if (find_camera(CameraId(id)) != nullptr) continue;
    fail(folder / "images/camera.npy", "the table images/camera.npy names camera " +
                                           std::to_string(id) + ", which map.json does not list");
  }
}

Map::Map(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Map::Map(Map&&) noexcept = default;
Map& Map::operator=(Map&&) noexcept = default;
Map::~Map() = default;

Map Map::open(const fs::path& folder, bool verify_hashes) {
  auto data = std::make_unique<Data>();
  Data& d = *data;
  d.folder = folder;
  d.json = read_manifest(folder);
  const fs::path file = folder / map_manifest::kFileName;
  d.manifest = map_manifest::from_json(d.json, file);
  map_manifest::require_content_hash(d.manifest, d.json, file);
  d.content_hash = map_manifest::content_hash(d.manifest);
  d.open_tables();

  Map map(std::move(data));
  map.data_->require_cameras();
  if (verify_hashes) verify_map(map, map.data_->manifest);
  return map;
}

const fs::path& Map::folder() const { return data_->folder; }
const std::string& Map::content_hash() const { return data_->content_hash; }
const nlohmann::json& Map::manifest() const { return data_->json; }

const nlohmann::json& Map::note(const std::string& key) const {
  static const nlohmann::json kNone;
  const auto found = data_->manifest.notes.find(key);
  return found == data_->manifest.notes.end() ? kNone : *found;
}
const Georegistration& Map::georegistration() const { return data_->manifest.georegistration; }
const std::vector<MapCamera>& Map::cameras() const { return data_->manifest.cameras; }

const MapCamera& Map::camera(CameraId id) const {
  const MapCamera* found = data_->find_camera(id);
  if (found == nullptr) fail(data_->folder, "the map has no camera " + std::to_string(id.value));
  return *found;
}

std::size_t Map::image_count() const { return data_->image_id.size(); }

std::string_view Map::image_name(std::size_t image_index) const {
  assert(image_index < image_count());
  const std::uint64_t begin = data_->image_name_offset[image_index];
  const std::uint64_t end = data_->image_name_offset[image_index + 1];
  return {reinterpret_cast<const char*>(data_->image_name.data()) + begin, end - begin};
}

ImageId Map::image_id(std::size_t image_index) const {
  assert(image_index < image_count());
  return ImageId(data_->image_id[image_index]);
}

CameraId Map::image_camera(std::size_t image_index) const {
  assert(image_index < image_count());
  return CameraId(data_->image_camera[image_index]);
}

Rigid3 Map::cam_from_map(std::size_t image_index) const {
  assert(image_index < image_count());
  const double* row = data_->image_pose.data() + 7 * image_index;
  return {Eigen::Quaterniond(row[0], row[1], row[2], row[3]), {row[4], row[5], row[6]}};
}

std::size_t Map::point_count() const { return data_->point_id.size(); }
std::span<const double> Map::point_xyz() const { return data_->point_xyz; }

Eigen::Vector3d Map::point(std::size_t point_index) const {
  assert(point_index < point_count());
  return Eigen::Map<const Eigen::Vector3d>(data_->point_xyz.data() + 3 * point_index);
}

std::span<const std::uint64_t> Map::point_ids() const { return data_->point_id; }
std::span<const std::uint32_t> Map::point_track_length() const { return data_->point_track_length; }
std::span<const float> Map::point_error_px() const { return data_->point_error_px; }
std::span<const std::uint8_t> Map::point_rgb() const { return data_->point_rgb; }

std::span<const std::uint64_t> Map::observation_offset() const { return data_->observation_offset; }
std::span<const std::uint32_t> Map::observation_point() const { return data_->observation_point; }
std::span<const double> Map::observation_pixel() const { return data_->observation_pixel; }

std::vector<std::string> Map::feature_kinds() const { return keys_of(data_->features); }
std::vector<std::string> Map::place_kinds() const { return keys_of(data_->places); }

MapFeatures Map::features(std::string_view kind) const {
  const auto at = data_->features.find(kind);
  if (at == data_->features.end()) {
    fail_missing("features of kind", kind, feature_kinds(), data_->folder);
  }
  return at->second;
}

MapPlaces Map::places(std::string_view kind) const {
  const auto at = data_->places.find(kind);
  if (at == data_->places.end()) {
    fail_missing("global descriptors of kind", kind, place_kinds(), data_->folder);
  }
  return at->second;
}

}  // namespace skyfix
