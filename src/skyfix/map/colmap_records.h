// What the binary and the text reader share: the checks on one record, and the model's files.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/map/colmap_model.h"

namespace skyfix::colmap_io {

// A place in a file that an error can name.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // Throws Error(reason) with the file, the record and the byte offset or line.
  [[noreturn]] void fail(const std::string& what, Reason reason = Reason::bad_model) const {
    throw Error(reason, place() + ": " + what, file());
  }

 private:
  virtual std::string place() const = 0;
  virtual const std::filesystem::path& file() const = 0;
};

// Quaternion w x y z and translation, as in the files.
using PoseNumbers = std::array<double, 7>;

// The pose with a unit quaternion. One that is unit to rounding is kept bit by bit, so that writing
// and reading again changes nothing. Fails for a zero or non-finite quaternion.
Rigid3 unit_pose(const RecordSource& source, const PoseNumbers& numbers, double* norm = nullptr);

// Adds one record to a model, checked against what is there already.
class ModelBuilder {
 public:
  explicit ModelBuilder(ColmapModel& model) : model_(model) {}
  void add_camera(const RecordSource& source, CameraId id, CameraModel camera_model,
                  std::uint64_t width, std::uint64_t height, std::vector<double> params);
  // The image without its observations: unknown cameras and repeated ids fail.
  void check_image(const RecordSource& source, const ColmapImage& image);
  void check_rig(const RecordSource& source, RigId id);

 private:
  ColmapModel& model_;
  std::unordered_set<std::uint32_t> image_ids_;
  std::unordered_set<std::uint32_t> rig_ids_;
};

// camera_model_from_id and camera_model_from_name, failing at `source`.
CameraModel known_camera_model(const RecordSource& source, int id);
CameraModel known_camera_model(const RecordSource& source, std::string_view name);
SensorType known_sensor_type(const RecordSource& source, int number);

// folder/stem.bin or folder/stem.txt.
std::filesystem::path model_file(const std::filesystem::path& folder, const std::string& stem,
                                 ColmapFormat format);
// The complete set (cameras, images, points3D) in a folder; binary where both are there.
std::optional<ColmapFormat> format_in(const std::filesystem::path& folder);

// Cameras, images, points and, where their files are, rigs and frames, as they stand in the files.
ColmapModel read_binary(const std::filesystem::path& folder);
ColmapModel read_text(const std::filesystem::path& folder);

// Number of images by a look at the images file alone; 0 when it is damaged.
std::size_t count_images_binary(const std::filesystem::path& folder);
std::size_t count_images_text(const std::filesystem::path& folder);

// Composes the images' poses from rigs and frames (formats 1.3). `folder` and `format` serve the
// messages; which of the two files there are decides about falling back to the images' own poses.
void apply_frames(ColmapModel& model, const std::filesystem::path& folder, ColmapFormat format);

}  // namespace skyfix::colmap_io
