// COLMAP's binary files (formats 1.2).
#include "skyfix/map/colmap_writers.h"

namespace skyfix::colmap_io {
namespace {

// Appends values as their bytes.
class BinaryOut {
 public:
  template <class T>
  BinaryOut& put(const T& value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  void put_pose(const Rigid3& pose) {
    for (const double number : pose_numbers(pose)) put(number);
  }
  void put_name(const std::string& name) { bytes_.append(name.c_str(), name.size() + 1); }
  const std::string& content() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string cameras(const ColmapModel& model) {
  BinaryOut out;
  out.put<std::uint64_t>(model.cameras.size());
  for (const auto& [id, camera] : model.cameras) {
    out.put(id.value).put(static_cast<std::int32_t>(camera.model));
    out.put<std::uint64_t>(camera.width).put<std::uint64_t>(camera.height);
    for (const double value : camera.params) out.put(value);
  }
  return out.content();
}

std::string images(const ColmapModel& model) {
  BinaryOut out;
  out.put<std::uint64_t>(model.images.size());
  for (const ColmapImage& image : model.images) {
    out.put(image.id.value).put_pose(image.cam_from_world);
    out.put(image.camera.value).put_name(image.name);
    out.put<std::uint64_t>(image.observations.size());
    for (const ColmapObservation& observation : image.observations) {
      out.put(observation.pixel.x()).put(observation.pixel.y()).put(observation.point.value);
    }
  }
  return out.content();
}

std::string points(const ColmapModel& model) {
  BinaryOut out;
  out.put<std::uint64_t>(model.points.size());
  for (const ColmapPoint& point : model.points) {
    out.put(point.id.value);
    for (const double value : point.xyz) out.put(value);
    for (const std::uint8_t value : point.rgb) out.put(value);
    out.put(point.error_px).put<std::uint64_t>(point.track.size());
    for (const TrackElement& element : point.track) {
      out.put(element.image.value).put(element.observation_index);
    }
  }
  return out.content();
}

std::string rigs(const ColmapModel& model) {
  BinaryOut out;
  out.put<std::uint64_t>(model.rigs.size());
  for (const ColmapRig& rig : model.rigs) {
    out.put(rig.id.value).put<std::uint32_t>(rig.sensors.size());
    for (std::size_t s = 0; s < rig.sensors.size(); ++s) {
      const RigSensor& sensor = rig.sensors[s];
      out.put(static_cast<std::int32_t>(sensor.type)).put(sensor.id);
      if (s == 0) continue;
      out.put<std::uint8_t>(sensor.has_pose ? 1 : 0);
      if (sensor.has_pose) out.put_pose(sensor.sensor_from_rig);
    }
  }
  return out.content();
}

std::string frames(const ColmapModel& model) {
  BinaryOut out;
  out.put<std::uint64_t>(model.frames.size());
  for (const ColmapFrame& frame : model.frames) {
    out.put(frame.id.value).put(frame.rig.value).put_pose(frame.rig_from_world);
    out.put<std::uint32_t>(frame.data.size());
    for (const FrameDatum& datum : frame.data) {
      out.put(static_cast<std::int32_t>(datum.type)).put(datum.sensor_id).put(datum.data_id);
    }
  }
  return out.content();
}

constexpr FileContent kContents[] = {{"cameras", cameras},
                                     {"images", images},
                                     {"points3D", points},
                                     {"rigs", rigs},
                                     {"frames", frames}};

}  // namespace

std::span<const FileContent> binary_contents() { return kContents; }

}  // namespace skyfix::colmap_io
