// Checks of a model before it is used (formats 1.5): what COLMAP lets pass and users trip on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/map/colmap_model.h"

namespace skyfix {

enum class Severity { note, warning, error };

struct Finding {
  Severity severity = Severity::warning;
  std::string code;     // stable, lower-case, e.g. "image_size_mismatch"
  std::string message;  // what and what to do, with the number of cases and the first few names
};

// Codes: empty_model, duplicate_point_id, duplicate_image_name, image_name_outside,
// non_finite_image, non_finite_point, quaternion_norm, large_coordinates, unknown_point,
// image_without_observations, track_mismatch, point_behind_camera, point_far; photo_missing,
// image_size_mismatch.
//
// Empty model, unknown point ids, tracks that disagree with observations, images without
// observations, equal names, quaternions off by more than 1e-3 (as read), coordinates beyond 1e5
// (ECEF or UTM), points behind or far from the cameras that see them, non-finite values; with
// `images`: photos that are missing or whose pixel size is not the camera's. `probe` gives a
// photo's size (handed in because decoding lives in another room).
std::vector<Finding> check_model(const ColmapModel& model);

struct PhotoSize {
  int width = 0;
  int height = 0;
};
std::vector<Finding> check_photos(const ColmapModel& model,
                                  const std::vector<std::optional<PhotoSize>>&
                                      photo_sizes /* per model image; empty = missing */);

}  // namespace skyfix
