// The map folder: versioned, checked on opening, memory-mapped. Opening takes milliseconds and
// copies no descriptors, whatever the size.
//
//   map.json                     version, source, counts, georegistration, cameras, tables (size,
//   sha256) images/{id,camera,pose,name_offset,name}.npy      N images; pose rows are q_wxyz, t
//   (cam_from_map) points/{id,xyz,rgb,error,track_length}.npy        M points
//   observations/{offset,point,pixel}.npy             CSR by image: offset [N+1], point index,
//   pixel [K,2] features/KIND/{offset,point,observation,pixel,descriptor}.npy   CSR by image, tied
//   to observations places/KIND/{vocabulary,descriptor}.npy           global descriptors, one row
//   per image
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "skyfix/base/npy.h"
#include "skyfix/map/colmap_model.h"
#include "skyfix/map/georegistration.h"

namespace skyfix {

class MapTableWriter;
namespace map_manifest {
struct Manifest;
struct PlaceKind;
}  // namespace map_manifest

inline constexpr int kMapVersion = 1;

// Features of one kind tied to map points, for all images: views into the mapped files.
struct MapFeatures {
  std::string kind;  // "sift"
  int dimension = 0;
  std::span<const std::uint64_t> offset;       // [N+1]: rows of image i are offset[i]..offset[i+1]
  std::span<const std::uint32_t> point;        // [K] point index of each row
  std::span<const std::uint32_t> observation;  // [K] observation index within the image
  std::span<const float> pixel;                // [K,2] x, y of the feature (COLMAP pixels)
  std::span<const float> descriptor;           // [K,dimension], unit rows
};

// Global descriptors of one kind.
struct MapPlaces {
  std::string kind;  // "vlad-sift"
  int clusters = 0;
  int local_dimension = 0;
  std::string vocabulary_hash;        // SHA-256 of the vocabulary's bytes, hex
  std::span<const float> vocabulary;  // [clusters, local_dimension]
  std::span<const float> descriptor;  // [N, clusters * local_dimension], unit rows or zero
};

// What a camera is known by, kept from the map photos' EXIF.
struct MapCamera {
  CameraId id;
  Camera camera;
  std::string make;  // empty = absent
  std::string model;
};

// An opened map. Copies nothing large; move-only. Spans live as long as it does.
class Map {
 public:
  // Throws Error(unreadable_file | bad_map | map_version). Checks version, table list, sizes,
  // shapes and offsets; `verify_hashes` also reads everything, compares SHA-256 and checks that
  // every index is in range and every number finite. Without it a table whose bytes were changed in
  // place is not noticed.
  static Map open(const std::filesystem::path& folder, bool verify_hashes = false);
  Map(Map&&) noexcept;
  Map& operator=(Map&&) noexcept;
  ~Map();

  const std::filesystem::path& folder() const;
  // Identity of the content: SHA-256 over the tables' and vocabularies' hashes, the cameras and the
  // georegistration (from map.json; cheap).
  const std::string& content_hash() const;
  const nlohmann::json& manifest() const;
  // What was noted under a key when the map was made; null when nothing was.
  const nlohmann::json& note(const std::string& key) const;
  const Georegistration& georegistration() const;
  const std::vector<MapCamera>& cameras() const;
  const MapCamera& camera(CameraId id) const;  // throws Error(bad_map)

  std::size_t image_count() const;
  std::string_view image_name(std::size_t image_index) const;
  ImageId image_id(std::size_t image_index) const;
  CameraId image_camera(std::size_t image_index) const;
  Rigid3 cam_from_map(std::size_t image_index) const;

  std::size_t point_count() const;
  std::span<const double> point_xyz() const;  // [M,3], map units
  Eigen::Vector3d point(std::size_t point_index) const;
  std::span<const std::uint64_t> point_ids() const;
  std::span<const std::uint32_t> point_track_length() const;
  std::span<const float> point_error_px() const;    // [M], -1 = unknown
  std::span<const std::uint8_t> point_rgb() const;  // [M,3]

  // Observations of image i: rows offset[i]..offset[i+1].
  std::span<const std::uint64_t> observation_offset() const;  // [N+1]
  std::span<const std::uint32_t> observation_point() const;   // [K] point index
  std::span<const double> observation_pixel() const;          // [K,2]

  std::vector<std::string> feature_kinds() const;
  std::vector<std::string> place_kinds() const;
  // Throws Error(missing_in_map) that lists the kinds there are.
  MapFeatures features(std::string_view kind) const;
  MapPlaces places(std::string_view kind) const;

 private:
  struct Data;
  explicit Map(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// Global descriptors of one kind, to be written.
struct PlaceTable {
  int clusters = 0;
  int local_dimension = 0;
  std::vector<float> vocabulary;   // [clusters, local_dimension]
  std::vector<float> descriptors;  // [N, clusters * local_dimension]
};

// Collects a map's parts and writes the folder; the folder appears whole or not at all (written
// beside and renamed; an existing map is replaced only when `overwrite`).
class MapWriter {
 public:
  // Only images with at least one 3D observation and points with a track that an image observes are
  // kept, sorted by image name (natural order) and point id, and the cameras of those images. What
  // is not finite and observations without a point are dropped. `model` must outlive the writer.
  // Throws Error(empty_model) when nothing is left, Error(bad_model) for images without a camera.
  MapWriter(const ColmapModel& model, const Georegistration& georegistration);

  // The image order of the map: index -> index in model.images.
  const std::vector<std::size_t>& model_image_of() const { return model_image_of_; }
  // Points that the map keeps.
  std::size_t point_count() const { return model_point_of_.size(); }
  // Map observations of image i as (pixel, point index), in map order.
  struct Observation {
    Eigen::Vector2d pixel;
    std::uint32_t point = 0;
  };
  const std::vector<Observation>& observations(std::size_t image_index) const {
    return observations_[image_index];
  }

  void set_camera_identity(CameraId id, const std::string& make, const std::string& model);

  struct ImageFeatures {
    std::vector<std::uint32_t> observation;  // index into observations(image)
    std::vector<float> pixel;                // [k,2]
    std::vector<float> descriptor;           // [k,dimension]
  };
  // One entry per image of the map.
  void add_features(const std::string& kind, int dimension, std::vector<ImageFeatures> by_image);
  // vocabulary [clusters, local_dimension]; descriptors [N, clusters * local_dimension].
  void add_places(const std::string& kind, int clusters, int local_dimension,
                  std::vector<float> vocabulary, std::vector<float> descriptors);
  // Anything else for map.json (source paths and hashes, options).
  void set_note(const std::string& key, const nlohmann::json& value);

  // Throws Error(unwritable_output): also when the folder exists and is not a map, is a map and
  // `overwrite` is not given, or holds files that are not the map's.
  void write(const std::filesystem::path& folder, bool overwrite);

 private:
  void write_images(MapTableWriter& out) const;
  void write_points(MapTableWriter& out) const;
  void write_observations(MapTableWriter& out) const;
  void write_features(MapTableWriter& out) const;
  void write_places(MapTableWriter& out,
                    std::map<std::string, map_manifest::PlaceKind>& kinds) const;
  std::vector<MapCamera> used_cameras() const;
  map_manifest::Manifest manifest(const MapTableWriter& written) const;

  struct FeatureTable {
    int dimension = 0;
    std::vector<ImageFeatures> by_image;
  };
  const ColmapModel& model_;
  Georegistration georegistration_;
  std::vector<std::size_t> model_image_of_;
  std::vector<std::size_t> model_point_of_;
  std::vector<std::vector<Observation>> observations_;
  std::map<std::uint32_t, std::pair<std::string, std::string>> identities_;
  std::map<std::string, FeatureTable> features_;
  std::map<std::string, PlaceTable> places_;
  std::map<std::string, std::string> notes_;  // key -> JSON text
};

}  // namespace skyfix
