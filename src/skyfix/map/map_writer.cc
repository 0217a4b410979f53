// What a map takes from a model.
#include <algorithm>
#include <cassert>
#include <unordered_map>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/map/map_manifest.h"

namespace skyfix {
namespace {

constexpr std::uint32_t kNotKept = 0xFFFFFFFFu;

bool usable(const ColmapImage& image) {
  return image.cam_from_world.rotation.coeffs().allFinite() &&
         image.cam_from_world.translation.allFinite();
}

// Positions in model.images of usable images, by name (natural order), equal names by id.
std::vector<std::size_t> images_by_name(const ColmapModel& model) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < model.images.size(); ++i) {
    if (usable(model.images[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const ColmapImage& left = model.images[a];
    const ColmapImage& right = model.images[b];
    if (left.name != right.name) return natural_less(left.name, right.name);
    return left.id < right.id;
  });
  return order;
}

// The model's points by id, with how many observations see each.
class PointUse {
 public:
  explicit PointUse(const ColmapModel& model) : seen_(model.points.size(), 0) {
    index_.reserve(model.points.size());
    for (std::size_t p = 0; p < model.points.size(); ++p) {
      const ColmapPoint& point = model.points[p];
      if (point.id.valid() && !point.track.empty() && point.xyz.allFinite()) {
        index_.emplace(point.id, static_cast<std::uint32_t>(p));
      }
    }
  }
  // Position in model.points, or kNotKept.
  std::uint32_t find(PointId id) const {
    const auto at = index_.find(id);
    return at == index_.end() ? kNotKept : at->second;
  }
  void see(std::uint32_t point) { ++seen_[point]; }
  bool is_seen(std::size_t point) const { return seen_[point] > 0; }

 private:
  std::unordered_map<PointId, std::uint32_t> index_;
  std::vector<std::uint32_t> seen_;
};

}  // namespace

MapWriter::MapWriter(const ColmapModel& model, const Georegistration& georegistration)
    : model_(model), georegistration_(georegistration) {
  PointUse use(model);
  for (const std::size_t i : images_by_name(model)) {
    std::vector<Observation> kept;
    for (const ColmapObservation& observation : model.images[i].observations) {
      const std::uint32_t point = use.find(observation.point);
      if (point == kNotKept || !observation.pixel.allFinite()) continue;
      kept.push_back({observation.pixel, point});
      use.see(point);
    }
    if (kept.empty()) continue;
    if (!model.cameras.contains(model.images[i].camera)) {
      throw Error(Reason::bad_model, "image '" + model.images[i].name + "' has no camera");
    }
    model_image_of_.push_back(i);
    observations_.push_back(std::move(kept));
  }
  for (std::size_t p = 0; p < model.points.size(); ++p) {
    if (use.is_seen(p)) model_point_of_.push_back(p);
  }
  if (model_point_of_.empty()) {
    throw Error(Reason::empty_model,
                "no image of the model observes a 3D point: there is nothing to make a map of");
  }
  std::sort(model_point_of_.begin(), model_point_of_.end(),
            [&](std::size_t a, std::size_t b) { return model.points[a].id < model.points[b].id; });
  std::vector<std::uint32_t> map_point_of(model.points.size(), kNotKept);
  for (std::size_t p = 0; p < model_point_of_.size(); ++p) {
    map_point_of[model_point_of_[p]] = static_cast<std::uint32_t>(p);
  }
  for (auto& image : observations_) {
    for (Observation& observation : image) observation.point = map_point_of[observation.point];
  }
}

void MapWriter::set_camera_identity(CameraId id, const std::string& make,
                                    const std::string& model) {
  assert(model_.cameras.contains(id));
  identities_[id.value] = {make, model};
}

void MapWriter::add_features(const std::string& kind, int dimension,
                             std::vector<ImageFeatures> by_image) {
  assert(map_manifest::is_kind_name(kind) && dimension > 0);
  assert(by_image.size() == observations_.size());
  features_[kind] = {dimension, std::move(by_image)};
}

void MapWriter::add_places(const std::string& kind, int clusters, int local_dimension,
                           std::vector<float> vocabulary, std::vector<float> descriptors) {
  assert(map_manifest::is_kind_name(kind) && clusters > 0 && local_dimension > 0);
  assert(vocabulary.size() == static_cast<std::size_t>(clusters) * local_dimension);
  assert(descriptors.size() == vocabulary.size() * observations_.size());
  places_[kind] =
      PlaceTable{clusters, local_dimension, std::move(vocabulary), std::move(descriptors)};
}

void MapWriter::set_note(const std::string& key, const nlohmann::json& value) {
  notes_[key] = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace skyfix
