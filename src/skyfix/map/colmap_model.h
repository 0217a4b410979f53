// A COLMAP sparse model in memory, and its files (binary and text, with and without rigs and
// frames). Source: the COLMAP model specification in docs/formats.md.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "skyfix/base/strong_id.h"
#include "skyfix/geo/camera.h"
#include "skyfix/geo/rigid3.h"

namespace skyfix {

using CameraId = StrongId<struct CameraIdTag, std::uint32_t>;
using ImageId = StrongId<struct ImageIdTag, std::uint32_t>;
using PointId = StrongId<struct PointIdTag, std::uint64_t>;
using RigId = StrongId<struct RigIdTag, std::uint32_t>;
using FrameId = StrongId<struct FrameIdTag, std::uint32_t>;

struct ColmapObservation {
  Eigen::Vector2d pixel;  // COLMAP pixels: (0,0) is the corner of the top-left pixel
  PointId point;          // invalid = no 3D point
};

struct ColmapImage {
  ImageId id;
  CameraId camera;
  std::string name;  // relative path with '/', UTF-8, blanks allowed
  Rigid3 cam_from_world;
  std::vector<ColmapObservation> observations;
  // Length of the file's quaternion before it was made unit; far from 1 = damaged or foreign data.
  double quaternion_norm_read = 1;
};

struct TrackElement {
  ImageId image;
  std::uint32_t observation_index = 0;  // position in that image's observations
};

struct ColmapPoint {
  PointId id;
  Eigen::Vector3d xyz;
  std::uint8_t rgb[3] = {0, 0, 0};
  double error_px = -1;  // -1 = never computed
  std::vector<TrackElement> track;
};

// Sensor types in rigs and frames.
enum class SensorType : int { invalid = -1, camera = 0, imu = 1 };

struct RigSensor {
  SensorType type = SensorType::camera;
  std::uint32_t id = 0;
  bool has_pose = false;  // the reference sensor has none: it is the rig
  Rigid3 sensor_from_rig;
};

struct ColmapRig {
  RigId id;
  std::vector<RigSensor> sensors;  // the first is the reference sensor; may be empty
};

struct FrameDatum {
  SensorType type = SensorType::camera;
  std::uint32_t sensor_id = 0;
  std::uint64_t data_id = 0;  // image id for cameras
};

struct ColmapFrame {
  FrameId id;
  RigId rig;
  Rigid3 rig_from_world;
  std::vector<FrameDatum> data;
};

struct ColmapModel {
  std::map<CameraId, Camera> cameras;
  std::vector<ColmapImage> images;  // in file order
  std::vector<ColmapPoint> points;  // in file order
  std::vector<ColmapRig> rigs;      // empty: model without rigs and frames
  std::vector<ColmapFrame> frames;
  // Oddities found while reading, in words (e.g. poses that contradict the frames and by how much).
  std::vector<std::string> warnings;
};

enum class ColmapFormat { binary, text };

// Reads cameras, images, points3D and, if present, rigs and frames. The binary set is preferred
// where both are there. With rigs and frames, cam_from_world is composed from them and a
// disagreement with the images' own poses becomes one warning with the number of images and the
// largest difference; rigs without frames fall back to the images' poses with a warning. Files are
// mapped; every count is checked against the bytes left before anything is allocated. Throws
// Error(bad_model | unsupported_camera_model | unreadable_file) naming file, record and byte offset
// (text: line number). Numbers in text use '.' whatever the locale; "0,01" is an error.
ColmapModel read_colmap(const std::filesystem::path& folder);

// The cameras of one cameras.bin alone. Throws as read_colmap.
std::map<CameraId, Camera> read_colmap_cameras(const std::filesystem::path& cameras_bin);

// Finds the model in `path`: the folder itself, or its largest sub-model (most images) such as
// sparse/0, when `path` is a sparse/ or project folder. Throws Error(bad_model) listing what was
// looked for.
std::filesystem::path find_colmap_model(const std::filesystem::path& path);

// Writes cameras, images, points3D (and rigs, frames when the model has them; else those of an
// older model in the folder are removed). Reading back gives equal values, bit by bit. Throws
// Error(unwritable_output): also for text beside a binary model, which readers would prefer, and
// for names that the format cannot hold (line breaks, blanks at an end in text).
void write_colmap(const ColmapModel& model, const std::filesystem::path& folder,
                  ColmapFormat format);

}  // namespace skyfix
