#include "skyfix/map/colmap_records.h"

#include <cmath>
#include <limits>

namespace skyfix::colmap_io {
namespace fs = std::filesystem;

namespace {

// Quaternions this near to unit length are so to rounding and stay as they are.
constexpr double kUnitTolerance = 1e-14;

}  // namespace

Rigid3 unit_pose(const RecordSource& source, const PoseNumbers& numbers, double* norm) {
  const auto& [w, x, y, z, tx, ty, tz] = numbers;
  Eigen::Quaterniond rotation(w, x, y, z);
  const double length = rotation.norm();
  if (!std::isfinite(length) || length < 1e-6) {
    source.fail("the quaternion is zero or not finite");
  }
  if (std::abs(length - 1) > kUnitTolerance) rotation.coeffs() /= length;
  if (norm != nullptr) *norm = length;
  return {rotation, {tx, ty, tz}};
}

void ModelBuilder::add_camera(const RecordSource& source, CameraId id, CameraModel camera_model,
                              std::uint64_t width, std::uint64_t height,
                              std::vector<double> params) {
  const std::string who = "camera " + std::to_string(id.value);
  constexpr std::uint64_t kLargest = std::numeric_limits<int>::max();
  if (width > kLargest || height > kLargest) {
    source.fail(who + " is said to be " + std::to_string(width) + "x" + std::to_string(height) +
                " pixels");
  }
  const Camera camera{camera_model, static_cast<int>(width), static_cast<int>(height),
                      std::move(params)};
  try {
    camera.validate();
  } catch (const Error& error) {
    source.fail(who + ": " + error.message());
  }
  if (!model_.cameras.emplace(id, camera).second) source.fail(who + " is there twice");
}

void ModelBuilder::check_image(const RecordSource& source, const ColmapImage& image) {
  const std::string who = "image " + std::to_string(image.id.value) + " '" + image.name + "'";
  if (image.name.empty()) source.fail(who + " has no name");
  if (!model_.cameras.contains(image.camera)) {
    source.fail(who + " uses camera " + std::to_string(image.camera.value) +
                ", which the cameras file does not hold");
  }
  if (!image_ids_.insert(image.id.value).second)
    source.fail(who + " has an id that is there twice");
}

void ModelBuilder::check_rig(const RecordSource& source, RigId id) {
  if (!rig_ids_.insert(id.value).second) {
    source.fail("rig " + std::to_string(id.value) + " is there twice");
  }
}

CameraModel known_camera_model(const RecordSource& source, int id) {
  try {
    return camera_model_from_id(id);
  } catch (const Error& error) {
    source.fail(error.message(), error.reason());
  }
}

CameraModel known_camera_model(const RecordSource& source, std::string_view name) {
  try {
    return camera_model_from_name(name);
  } catch (const Error& error) {
    source.fail(error.message(), error.reason());
  }
}

SensorType known_sensor_type(const RecordSource& source, int number) {
  if (number < -1 || number > 1) {
    source.fail("sensor type " + std::to_string(number) + " is not known");
  }
  return static_cast<SensorType>(number);
}

fs::path model_file(const fs::path& folder, const std::string& stem, ColmapFormat format) {
  return folder / (stem + (format == ColmapFormat::binary ? ".bin" : ".txt"));
}

std::optional<ColmapFormat> format_in(const fs::path& folder) {
  for (const ColmapFormat format : {ColmapFormat::binary, ColmapFormat::text}) {
    bool complete = true;
    for (const char* stem : {"cameras", "images", "points3D"}) {
      std::error_code ignored;
      complete = complete && fs::is_regular_file(model_file(folder, stem, format), ignored);
    }
    if (complete) return format;
  }
  return std::nullopt;
}

}  // namespace skyfix::colmap_io
