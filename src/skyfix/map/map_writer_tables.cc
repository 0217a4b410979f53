// The tables that a map's parts become.
#include <cassert>
#include <cmath>

#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/map/map_kind_tables.h"
#include "skyfix/map/map_publish.h"

namespace skyfix {
namespace {

template <class T>
std::span<const T> view(const std::vector<T>& values) {
  return values;
}

std::string_view bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// 0, then the running sum of `size(i)`: where the rows of each image begin.
template <class Size>
std::vector<std::uint64_t> offsets(std::size_t count, const Size& size) {
  std::vector<std::uint64_t> offset{0};
  offset.reserve(count + 1);
  for (std::size_t i = 0; i < count; ++i) offset.push_back(offset.back() + size(i));
  return offset;
}

}  // namespace

void MapWriter::write_images(MapTableWriter& out) const {
  std::vector<std::uint32_t> id;
  std::vector<std::uint32_t> camera;
  std::vector<double> pose;
  std::vector<std::uint8_t> name;
  for (const std::size_t i : model_image_of_) {
    const ColmapImage& image = model_.images[i];
    const auto& q = image.cam_from_world.rotation;
    const auto& t = image.cam_from_world.translation;
    id.push_back(image.id.value);
    camera.push_back(image.camera.value);
    pose.insert(pose.end(), {q.w(), q.x(), q.y(), q.z(), t.x(), t.y(), t.z()});
    name.insert(name.end(), image.name.begin(), image.name.end());
  }
  const auto name_offset = offsets(model_image_of_.size(), [&](std::size_t i) {
    return model_.images[model_image_of_[i]].name.size();
  });
  out.write("images/id.npy", view(id));
  out.write("images/camera.npy", view(camera));
  out.write("images/pose.npy", view(pose), 7);
  out.write("images/name_offset.npy", view(name_offset));
  out.write("images/name.npy", view(name));
}

void MapWriter::write_points(MapTableWriter& out) const {
  std::vector<std::uint64_t> id;
  std::vector<double> xyz;
  std::vector<std::uint8_t> rgb;
  std::vector<float> error_px;
  for (const std::size_t p : model_point_of_) {
    const ColmapPoint& point = model_.points[p];
    id.push_back(point.id.value);
    xyz.insert(xyz.end(), point.xyz.begin(), point.xyz.end());
    rgb.insert(rgb.end(), point.rgb, point.rgb + 3);
    error_px.push_back(std::isfinite(point.error_px) ? static_cast<float>(point.error_px) : -1);
  }
  std::vector<std::uint32_t> track_length(model_point_of_.size(), 0);
  for (const auto& image : observations_) {
    for (const Observation& observation : image) ++track_length[observation.point];
  }
  out.write("points/id.npy", view(id));
  out.write("points/xyz.npy", view(xyz), 3);
  out.write("points/rgb.npy", view(rgb), 3);
  out.write("points/error.npy", view(error_px));
  out.write("points/track_length.npy", view(track_length));
}

void MapWriter::write_observations(MapTableWriter& out) const {
  const auto offset =
      offsets(observations_.size(), [&](std::size_t i) { return observations_[i].size(); });
  std::vector<std::uint32_t> point;
  std::vector<double> pixel;
  point.reserve(offset.back());
  pixel.reserve(2 * offset.back());
  for (const auto& image : observations_) {
    for (const Observation& observation : image) {
      point.push_back(observation.point);
      pixel.insert(pixel.end(), {observation.pixel.x(), observation.pixel.y()});
    }
  }
  out.write("observations/offset.npy", view(offset));
  out.write("observations/point.npy", view(point));
  out.write("observations/pixel.npy", view(pixel), 2);
}

void write_feature_tables(MapTableWriter& out, const std::string& kind, int dimension,
                          std::span<const MapWriter::ImageFeatures> by_image,
                          const PointOfObservation& point_of) {
  const auto path = [&](const char* name) { return map_manifest::feature_table(kind, name); };
  const auto offset =
      offsets(by_image.size(), [&](std::size_t i) { return by_image[i].observation.size(); });
  std::vector<std::uint32_t> point;
  point.reserve(offset.back());
  for (std::size_t i = 0; i < by_image.size(); ++i) {
    assert(by_image[i].pixel.size() == 2 * by_image[i].observation.size());
    assert(by_image[i].descriptor.size() == dimension * by_image[i].observation.size());
    for (const std::uint32_t o : by_image[i].observation) point.push_back(point_of(i, o));
  }
  out.write(path("offset"), view(offset));
  out.write(path("point"), view(point));
  out.begin<std::uint32_t>(path("observation"), offset.back());
  for (const auto& image : by_image) out.append(view(image.observation));
  out.end();
  out.begin<float>(path("pixel"), offset.back(), 2);
  for (const auto& image : by_image) out.append(view(image.pixel));
  out.end();
  out.begin<float>(path("descriptor"), offset.back(), dimension);
  for (const auto& image : by_image) out.append(view(image.descriptor));
  out.end();
}

map_manifest::PlaceKind write_place_tables(MapTableWriter& out, const std::string& kind,
                                           const PlaceTable& table) {
  out.write(map_manifest::place_table(kind, "vocabulary"), view(table.vocabulary),
            table.local_dimension);
  out.write(map_manifest::place_table(kind, "descriptor"), view(table.descriptors),
            static_cast<std::size_t>(table.clusters) * table.local_dimension);
  return {table.clusters, table.local_dimension, sha256_hex(bytes_of(table.vocabulary))};
}

void MapWriter::write_features(MapTableWriter& out) const {
  for (const auto& [kind, table] : features_) {
    write_feature_tables(out, kind, table.dimension, table.by_image,
                         [&](std::size_t image, std::uint32_t observation) {
                           assert(observation < observations_[image].size());
                           return observations_[image][observation].point;
                         });
  }
}

void MapWriter::write_places(MapTableWriter& out,
                             std::map<std::string, map_manifest::PlaceKind>& kinds) const {
  for (const auto& [kind, table] : places_) kinds[kind] = write_place_tables(out, kind, table);
}

std::vector<MapCamera> MapWriter::used_cameras() const {
  std::map<CameraId, MapCamera> used;
  for (const std::size_t i : model_image_of_) {
    const CameraId id = model_.images[i].camera;
    used[id] = {id, model_.cameras.at(id), "", ""};
  }
  std::vector<MapCamera> cameras;
  for (auto& [id, camera] : used) {
    if (const auto known = identities_.find(id.value); known != identities_.end()) {
      camera.make = known->second.first;
      camera.model = known->second.second;
    }
    cameras.push_back(camera);
  }
  return cameras;
}

map_manifest::Manifest MapWriter::manifest(const MapTableWriter& written) const {
  map_manifest::Manifest manifest;
  manifest.images = observations_.size();
  manifest.points = model_point_of_.size();
  for (const auto& image : observations_) manifest.observations += image.size();
  manifest.cameras = used_cameras();
  manifest.georegistration = georegistration_;
  for (const auto& [kind, table] : features_) manifest.features[kind] = {table.dimension};
  manifest.tables = written.tables();
  for (const auto& [key, text] : notes_) manifest.notes[key] = nlohmann::json::parse(text);
  return manifest;
}

void MapWriter::write(const std::filesystem::path& folder, bool overwrite) {
  PartialMapFolder partial(folder, overwrite);
  MapTableWriter out(partial.path());
  write_images(out);
  write_points(out);
  write_observations(out);
  write_features(out);
  std::map<std::string, map_manifest::PlaceKind> place_kinds;
  write_places(out, place_kinds);
  map_manifest::Manifest whole = manifest(out);
  whole.places = std::move(place_kinds);
  write_file_atomic(partial.path() / map_manifest::kFileName,
                    map_manifest::to_json(whole).dump(1) + "\n");
  partial.publish();
}

}  // namespace skyfix
