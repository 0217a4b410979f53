// COLMAP's binary files (formats 1.2).
#include "skyfix/map/colmap_binary_cursor.h"

namespace skyfix::colmap_io {
namespace fs = std::filesystem;

namespace {

// The least bytes that one record can have: what bounds a count before memory is asked for.
constexpr std::size_t kCameraBytes = 4 + 4 + 8 + 8;
constexpr std::size_t kImageBytes = 4 + 7 * 8 + 4 + 1 + 8;
constexpr std::size_t kObservationBytes = 8 + 8 + 8;
constexpr std::size_t kPointBytes = 8 + 3 * 8 + 3 + 8 + 8;
constexpr std::size_t kTrackElementBytes = 4 + 4;
constexpr std::size_t kRigBytes = 4 + 4;
constexpr std::size_t kFrameBytes = 4 + 4 + 7 * 8 + 4;
constexpr std::size_t kFrameDatumBytes = 4 + 4 + 8;

void read_cameras(BinaryCursor& in, ModelBuilder& builder) {
  for (std::size_t i = 0; i < in.record_count(); ++i) {
    in.start_record(i);
    const CameraId id(in.take<std::uint32_t>());
    const CameraModel camera_model = known_camera_model(in, in.take<std::int32_t>());
    const auto width = in.take<std::uint64_t>();
    const auto height = in.take<std::uint64_t>();
    std::vector<double> params(camera_model_parameter_count(camera_model));
    for (double& value : params) value = in.take<double>();
    builder.add_camera(in, id, camera_model, width, height, std::move(params));
  }
}

std::vector<ColmapObservation> read_observations(BinaryCursor& in) {
  std::vector<ColmapObservation> observations(in.take_count<std::uint64_t>(kObservationBytes));
  const std::byte* from = in.take_bytes(observations.size() * kObservationBytes).data();
  for (ColmapObservation& observation : observations) {
    std::memcpy(observation.pixel.data(), from, 16);
    std::memcpy(&observation.point.value, from + 16, 8);
    from += kObservationBytes;
  }
  return observations;
}

void read_images(BinaryCursor& in, ModelBuilder& builder, std::vector<ColmapImage>& images) {
  images.resize(in.record_count());
  for (std::size_t i = 0; i < images.size(); ++i) {
    in.start_record(i);
    ColmapImage& image = images[i];
    image.id = ImageId(in.take<std::uint32_t>());
    image.cam_from_world = unit_pose(in, in.take_pose(), &image.quaternion_norm_read);
    image.camera = CameraId(in.take<std::uint32_t>());
    image.name = std::string(in.take_name());
    builder.check_image(in, image);
    image.observations = read_observations(in);
  }
}

void read_points(BinaryCursor& in, std::vector<ColmapPoint>& points) {
  points.resize(in.record_count());
  for (std::size_t i = 0; i < points.size(); ++i) {
    in.start_record(i);
    ColmapPoint& point = points[i];
    const std::byte* from = in.take_bytes(kPointBytes - 8).data();
    std::memcpy(&point.id.value, from, 8);
    std::memcpy(point.xyz.data(), from + 8, 24);
    std::memcpy(point.rgb, from + 32, 3);
    std::memcpy(&point.error_px, from + 35, 8);
    point.track.resize(in.take_count<std::uint64_t>(kTrackElementBytes));
    from = in.take_bytes(point.track.size() * kTrackElementBytes).data();
    for (TrackElement& element : point.track) {
      std::memcpy(&element.image.value, from, 4);
      std::memcpy(&element.observation_index, from + 4, 4);
      from += kTrackElementBytes;
    }
  }
}

void read_rigs(BinaryCursor& in, ModelBuilder& builder, std::vector<ColmapRig>& rigs) {
  for (std::size_t i = 0; i < in.record_count(); ++i) {
    in.start_record(i);
    ColmapRig rig;
    rig.id = RigId(in.take<std::uint32_t>());
    builder.check_rig(in, rig.id);
    // Each sensor has at least a type and an id.
    rig.sensors.resize(in.take_count<std::uint32_t>(8));
    for (std::size_t s = 0; s < rig.sensors.size(); ++s) {
      RigSensor& sensor = rig.sensors[s];
      sensor.type = known_sensor_type(in, in.take<std::int32_t>());
      sensor.id = in.take<std::uint32_t>();
      sensor.has_pose = s > 0 && in.take<std::uint8_t>() != 0;
      if (sensor.has_pose) sensor.sensor_from_rig = unit_pose(in, in.take_pose());
    }
    rigs.push_back(std::move(rig));
  }
}

void read_frames(BinaryCursor& in, std::vector<ColmapFrame>& frames) {
  for (std::size_t i = 0; i < in.record_count(); ++i) {
    in.start_record(i);
    ColmapFrame frame;
    frame.id = FrameId(in.take<std::uint32_t>());
    frame.rig = RigId(in.take<std::uint32_t>());
    frame.rig_from_world = unit_pose(in, in.take_pose());
    frame.data.resize(in.take_count<std::uint32_t>(kFrameDatumBytes));
    for (FrameDatum& datum : frame.data) {
      datum.type = known_sensor_type(in, in.take<std::int32_t>());
      datum.sensor_id = in.take<std::uint32_t>();
      datum.data_id = in.take<std::uint64_t>();
    }
    frames.push_back(std::move(frame));
  }
}

// Bytes behind the last record mean that the count is wrong or another program wrote more.
void note_rest(const BinaryCursor& in, const char* stem, ColmapModel& model) {
  if (in.bytes_left() == 0) return;
  model.warnings.push_back(std::string(stem) + ".bin has " + std::to_string(in.bytes_left()) +
                           " bytes after its last record; they are ignored");
}

}  // namespace

ColmapModel read_binary(const fs::path& folder) {
  ColmapModel model;
  ModelBuilder builder(model);
  const auto read = [&](const char* stem, const char* word, std::size_t least, auto&& records) {
    BinaryCursor in(model_file(folder, stem, ColmapFormat::binary), word, least);
    records(in);
    note_rest(in, stem, model);
  };
  const auto is_there = [&](const char* stem) {
    return fs::exists(model_file(folder, stem, ColmapFormat::binary));
  };
  read("cameras", "camera", kCameraBytes, [&](auto& in) { read_cameras(in, builder); });
  read("images", "image", kImageBytes, [&](auto& in) { read_images(in, builder, model.images); });
  read("points3D", "point", kPointBytes, [&](auto& in) { read_points(in, model.points); });
  if (is_there("rigs")) {
    read("rigs", "rig", kRigBytes, [&](auto& in) { read_rigs(in, builder, model.rigs); });
  }
  if (is_there("frames")) {
    read("frames", "frame", kFrameBytes, [&](auto& in) { read_frames(in, model.frames); });
  }
  return model;
}

std::size_t count_images_binary(const fs::path& folder) {
  try {
    return BinaryCursor(model_file(folder, "images", ColmapFormat::binary), "image", kImageBytes)
        .record_count();
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace skyfix::colmap_io

namespace skyfix {

std::map<CameraId, Camera> read_colmap_cameras(const std::filesystem::path& cameras_bin) {
  ColmapModel model;
  colmap_io::ModelBuilder builder(model);
  colmap_io::BinaryCursor in(cameras_bin, "camera", colmap_io::kCameraBytes);
  colmap_io::read_cameras(in, builder);
  return std::move(model.cameras);
}

}  // namespace skyfix
