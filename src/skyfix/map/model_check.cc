#include "skyfix/map/model_check.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <unordered_map>

namespace skyfix {
namespace {

constexpr double kQuaternionNormTolerance = 1e-3;
constexpr double kLargestLocalCoordinate = 1e5;
// A point so many times deeper than the median of all is hardly a surface point.
constexpr double kFarFactor = 100;
constexpr std::size_t kNamesShown = 3;

// Cases of one kind of oddity: how many, and the first few names.
class Cases {
 public:
  void add(const std::string& name) {
    ++count_;
    if (count_ <= kNamesShown) {
      names_ += (names_.empty() ? "" : ", ") + name;
    } else if (count_ == kNamesShown + 1) {
      names_ += ", ...";
    }
  }
  std::size_t count() const { return count_; }
  // Becomes a finding "N <what> (names). <advice>" when there is a case.
  void report(std::vector<Finding>& findings, Severity severity, const std::string& code,
              const std::string& what, const std::string& advice) const {
    if (count_ == 0) return;
    findings.push_back(
        {severity, code, std::to_string(count_) + " " + what + " (" + names_ + "). " + advice});
  }

 private:
  std::size_t count_ = 0;
  std::string names_;
};

std::string name_of(PointId id) { return "point " + std::to_string(id.value); }

bool finite(const Rigid3& pose) {
  return pose.rotation.coeffs().allFinite() && pose.translation.allFinite();
}

// Ids to positions in the model's arrays; the first of equal ids counts.
struct ModelIndex {
  std::unordered_map<PointId, std::size_t> points;
  std::unordered_map<ImageId, std::size_t> images;

  explicit ModelIndex(const ColmapModel& model) {
    points.reserve(model.points.size());
    for (std::size_t p = 0; p < model.points.size(); ++p) points.emplace(model.points[p].id, p);
    for (std::size_t i = 0; i < model.images.size(); ++i) images.emplace(model.images[i].id, i);
  }
  const ColmapPoint* find(const ColmapModel& model, PointId id) const {
    const auto at = points.find(id);
    return at == points.end() ? nullptr : &model.points[at->second];
  }
};

void check_emptiness(const ColmapModel& model, std::vector<Finding>& findings) {
  if (!model.images.empty() && !model.points.empty()) return;
  findings.push_back({Severity::error, "empty_model",
                      "the model has " + std::to_string(model.images.size()) + " images and " +
                          std::to_string(model.points.size()) +
                          " points. Check the reconstruction, or take another sub-model"});
}

void check_ids(const ColmapModel& model, const ModelIndex& index, std::vector<Finding>& findings) {
  Cases repeated;
  for (std::size_t p = 0; p < model.points.size(); ++p) {
    if (index.points.at(model.points[p].id) != p) repeated.add(name_of(model.points[p].id));
  }
  repeated.report(findings, Severity::error, "duplicate_point_id", "points have an id twice",
                  "Export the model again");
}

bool escapes_folder(const std::string& name) {
  const std::filesystem::path path(name);
  return path.is_absolute() ||
         std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
}

void check_names(const ColmapModel& model, std::vector<Finding>& findings) {
  Cases equal;
  Cases outside;
  std::unordered_map<std::string_view, int> seen;
  for (const ColmapImage& image : model.images) {
    if (seen[image.name]++ == 1) equal.add(image.name);
    if (escapes_folder(image.name)) outside.add(image.name);
  }
  equal.report(findings, Severity::error, "duplicate_image_name", "names stand for several images",
               "Give every photo its own path");
  outside.report(findings, Severity::error, "image_name_outside",
                 "image names lead out of the photo folder", "Use relative paths without '..'");
}

void check_values(const ColmapModel& model, std::vector<Finding>& findings) {
  Cases bad_images;
  Cases bad_points;
  Cases norms;
  Cases large;
  for (const ColmapImage& image : model.images) {
    bool pixels_finite = true;
    for (const auto& observation : image.observations) {
      pixels_finite = pixels_finite && observation.pixel.allFinite();
    }
    if (!finite(image.cam_from_world) || !pixels_finite) {
      bad_images.add(image.name);
      continue;
    }
    const double off = std::max(std::abs(image.quaternion_norm_read - 1),
                                std::abs(image.cam_from_world.rotation.norm() - 1));
    if (off > kQuaternionNormTolerance) norms.add(image.name);
    if (image.cam_from_world.centre().cwiseAbs().maxCoeff() > kLargestLocalCoordinate) {
      large.add(image.name);
    }
  }
  for (const ColmapPoint& point : model.points) {
    if (!point.xyz.allFinite()) {
      bad_points.add(name_of(point.id));
    } else if (point.xyz.cwiseAbs().maxCoeff() > kLargestLocalCoordinate) {
      large.add(name_of(point.id));
    }
  }
  bad_images.report(findings, Severity::error, "non_finite_image",
                    "images have a pose or pixels that are not finite", "Export the model again");
  bad_points.report(findings, Severity::error, "non_finite_point", "points are not finite",
                    "Export the model again");
  norms.report(findings, Severity::warning, "quaternion_norm",
               "images have a quaternion whose length is not 1",
               "They were made unit; check where "
               "the model comes from");
  large.report(findings, Severity::warning, "large_coordinates",
               "images or points are more than 1e5 from the origin",
               "These look like ECEF or UTM coordinates: shift the model to a local origin");
}

// Observations whose point is missing or whose track does not name them, and the other way round.
void check_tracks(const ColmapModel& model, const ModelIndex& index,
                  std::vector<Finding>& findings) {
  Cases unknown;
  Cases unseen;
  Cases disagreeing;
  for (const ColmapImage& image : model.images) {
    bool misses_points = false;
    bool sees_points = false;
    for (const ColmapObservation& observation : image.observations) {
      if (!observation.point.valid()) continue;
      sees_points = true;
      misses_points = misses_points || index.find(model, observation.point) == nullptr;
    }
    if (misses_points) unknown.add(image.name);
    if (!sees_points) unseen.add(image.name);
  }
  for (const ColmapPoint& point : model.points) {
    const bool agrees =
        std::all_of(point.track.begin(), point.track.end(), [&](const auto& element) {
          const auto at = index.images.find(element.image);
          if (at == index.images.end()) return false;
          const auto& observations = model.images[at->second].observations;
          return element.observation_index < observations.size() &&
                 observations[element.observation_index].point == point.id;
        });
    if (!agrees || point.track.empty()) disagreeing.add(name_of(point.id));
  }
  unknown.report(findings, Severity::warning, "unknown_point",
                 "images observe points that the model does not hold",
                 "Those observations are left out");
  unseen.report(findings, Severity::warning, "image_without_observations",
                "images observe no point", "They are left out of a map");
  disagreeing.report(findings, Severity::warning, "track_mismatch",
                     "points have a track that is empty or disagrees with the images' observations",
                     "Was the model cut or edited? The images' observations are used");
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void check_depths(const ColmapModel& model, const ModelIndex& index,
                  std::vector<Finding>& findings) {
  std::vector<double> depths;
  std::vector<PointId> ids;
  Cases behind;
  for (const ColmapImage& image : model.images) {
    for (const ColmapObservation& observation : image.observations) {
      const ColmapPoint* point =
          observation.point.valid() ? index.find(model, observation.point) : nullptr;
      if (point == nullptr) continue;
      const double depth = (image.cam_from_world * point->xyz).z();
      if (!std::isfinite(depth)) continue;
      if (depth <= 0) behind.add(name_of(point->id) + " in " + image.name);
      if (depth > 0) {
        depths.push_back(depth);
        ids.push_back(point->id);
      }
    }
  }
  behind.report(findings, Severity::warning, "point_behind_camera",
                "observations see a point that lies behind the camera",
                "Are the poses camera-from-world?");
  if (depths.empty()) return;
  std::vector<double> sorted = depths;
  const double limit = kFarFactor * median(sorted);
  Cases far;
  for (std::size_t k = 0; k < depths.size(); ++k) {
    if (depths[k] > limit) far.add(name_of(ids[k]));
  }
  far.report(findings, Severity::note, "point_far",
             "observations see a point over 100 times deeper than the median",
             "Filter the model if there are many");
}

std::string text_of(int width, int height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace

std::vector<Finding> check_model(const ColmapModel& model) {
  std::vector<Finding> findings;
  const ModelIndex index(model);
  check_emptiness(model, findings);
  check_ids(model, index, findings);
  check_names(model, findings);
  check_values(model, findings);
  check_tracks(model, index, findings);
  check_depths(model, index, findings);
  return findings;
}

std::vector<Finding> check_photos(const ColmapModel& model,
                                  const std::vector<std::optional<PhotoSize>>& photo_sizes) {
  assert(photo_sizes.size() == model.images.size());
  Cases missing;
  Cases other_size;
  for (std::size_t i = 0; i < model.images.size(); ++i) {
    const ColmapImage& image = model.images[i];
    const auto camera = model.cameras.find(image.camera);
    if (!photo_sizes[i]) {
      missing.add(image.name);
    } else if (camera != model.cameras.end() && (photo_sizes[i]->width != camera->second.width ||
                                                 photo_sizes[i]->height != camera->second.height)) {
      other_size.add(image.name + " is " + text_of(photo_sizes[i]->width, photo_sizes[i]->height) +
                     ", its camera " + text_of(camera->second.width, camera->second.height));
    }
  }
  std::vector<Finding> findings;
  const bool all_missing = missing.count() == model.images.size();
  missing.report(findings, all_missing ? Severity::error : Severity::warning, "photo_missing",
                 "photos are not in the photo folder",
                 "Names are paths below that folder; give the folder that the model was made from");
  other_size.report(findings, Severity::error, "image_size_mismatch",
                    "photos do not have their camera's size",
                    "Give the photos that the model was made from: not resized, not turned");
  return findings;
}

}  // namespace skyfix
