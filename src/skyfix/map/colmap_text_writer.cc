// COLMAP's text files (formats 1.1). Numbers are the shortest that read back to the same value.
#include <charconv>

#include "skyfix/map/colmap_writers.h"

namespace skyfix::colmap_io {
namespace {

// Appends values as words with one blank between them.
class TextOut {
 public:
  explicit TextOut(const char* comment) : text_(comment) {}
  template <class T>
  TextOut& put(const T& value) {
    separate();
    char digits[40];
    const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value);
    text_.append(digits, end);
    return *this;
  }
  TextOut& put_word(std::string_view word) {
    separate();
    text_ += word;
    return *this;
  }
  TextOut& put_id(PointId id) { return id.valid() ? put(id.value) : put_word("-1"); }
  void put_pose(const Rigid3& pose) {
    for (const double number : pose_numbers(pose)) put(number);
  }
  void end_line() {
    text_ += '\n';
    at_begin_ = true;
  }
  const std::string& content() const { return text_; }

 private:
  void separate() {
    if (!at_begin_) text_ += ' ';
    at_begin_ = false;
  }

  std::string text_;
  bool at_begin_ = true;
};

std::string cameras(const ColmapModel& model) {
  TextOut out(
      "# Camera list with one line of data per camera:\n"
      "#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]\n");
  for (const auto& [id, camera] : model.cameras) {
    out.put(id.value)
        .put_word(camera_model_name(camera.model))
        .put(camera.width)
        .put(camera.height);
    for (const double value : camera.params) out.put(value);
    out.end_line();
  }
  return out.content();
}

std::string images(const ColmapModel& model) {
  TextOut out(
      "# Image list with two lines of data per image:\n"
      "#   IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME (the rest of the line)\n"
      "#   POINTS2D[] as (X, Y, POINT3D_ID)\n");
  for (const ColmapImage& image : model.images) {
    out.put(image.id.value).put_pose(image.cam_from_world);
    out.put(image.camera.value).put_word(image.name).end_line();
    for (const ColmapObservation& observation : image.observations) {
      out.put(observation.pixel.x()).put(observation.pixel.y()).put_id(observation.point);
    }
    out.end_line();
  }
  return out.content();
}

std::string points(const ColmapModel& model) {
  TextOut out(
      "# 3D point list with one line of data per point:\n"
      "#   POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[] as (IMAGE_ID, POINT2D_IDX)\n");
  for (const ColmapPoint& point : model.points) {
    out.put(point.id.value);
    for (const double value : point.xyz) out.put(value);
    for (const std::uint8_t value : point.rgb) out.put(value);
    out.put(point.error_px);
    for (const TrackElement& element : point.track) {
      out.put(element.image.value).put(element.observation_index);
    }
    out.end_line();
  }
  return out.content();
}

const char* sensor_word(SensorType type) {
  switch (type) {
    case SensorType::camera:
      return "CAMERA";
    case SensorType::imu:
      return "IMU";
    case SensorType::invalid:
      break;
  }
  return "INVALID";
}

std::string rigs(const ColmapModel& model) {
  TextOut out(
      "# Rig list with one line of data per rig:\n"
      "#   RIG_ID, NUM_SENSORS, REF_SENSOR_TYPE, REF_SENSOR_ID, SENSORS[] as (SENSOR_TYPE, "
      "SENSOR_ID, HAS_POSE, [QW, QX, QY, QZ, TX, TY, TZ])\n");
  for (const ColmapRig& rig : model.rigs) {
    out.put(rig.id.value).put(rig.sensors.size());
    for (std::size_t s = 0; s < rig.sensors.size(); ++s) {
      const RigSensor& sensor = rig.sensors[s];
      out.put_word(sensor_word(sensor.type)).put(sensor.id);
      if (s == 0) continue;
      out.put(sensor.has_pose ? 1 : 0);
      if (sensor.has_pose) out.put_pose(sensor.sensor_from_rig);
    }
    out.end_line();
  }
  return out.content();
}

std::string frames(const ColmapModel& model) {
  TextOut out(
      "# Frame list with one line of data per frame:\n"
      "#   FRAME_ID, RIG_ID, RIG_FROM_WORLD[QW, QX, QY, QZ, TX, TY, TZ], NUM_DATA_IDS, DATA_IDS[] "
      "as "
      "(SENSOR_TYPE, SENSOR_ID, DATA_ID)\n");
  for (const ColmapFrame& frame : model.frames) {
    out.put(frame.id.value).put(frame.rig.value).put_pose(frame.rig_from_world);
    out.put(frame.data.size());
    for (const FrameDatum& datum : frame.data) {
      out.put_word(sensor_word(datum.type)).put(datum.sensor_id).put(datum.data_id);
    }
    out.end_line();
  }
  return out.content();
}

constexpr FileContent kContents[] = {{"cameras", cameras},
                                     {"images", images},
                                     {"points3D", points},
                                     {"rigs", rigs},
                                     {"frames", frames}};

}  // namespace

std::span<const FileContent> text_contents() { return kContents; }

}  // namespace skyfix::colmap_io
