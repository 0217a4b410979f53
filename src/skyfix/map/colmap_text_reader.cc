// COLMAP's text files: one record a line, two for images (formats 1.1).
#include "skyfix/base/text.h"
#include "skyfix/map/colmap_text_cursor.h"

namespace skyfix::colmap_io {
namespace fs = std::filesystem;

namespace {

void require_end(TextCursor& in) {
  if (!in.line_done()) in.fail("the line goes on behind the last value");
}

void read_cameras(TextCursor& in, ModelBuilder& builder) {
  while (in.next_record()) {
    const CameraId id(in.take<std::uint32_t>("camera id"));
    const CameraModel camera_model = known_camera_model(in, in.take_word("camera model"));
    const auto width = in.take<std::uint64_t>("width");
    const auto height = in.take<std::uint64_t>("height");
    std::vector<double> params(camera_model_parameter_count(camera_model));
    for (double& value : params) value = in.take<double>("camera parameter");
    require_end(in);
    builder.add_camera(in, id, camera_model, width, height, std::move(params));
  }
}

void read_images(TextCursor& in, ModelBuilder& builder, std::vector<ColmapImage>& images) {
  while (in.next_record()) {
    ColmapImage image;
    image.id = in.take_id<ImageId>("image id");
    image.cam_from_world = unit_pose(in, in.take_pose(), &image.quaternion_norm_read);
    image.camera = in.take_id<CameraId>("camera id");
    image.name = std::string(in.take_rest("image name"));
    builder.check_image(in, image);
    in.next_line();
    while (!in.line_done()) {
      ColmapObservation observation;
      observation.pixel.x() = in.take<double>("pixel x");
      observation.pixel.y() = in.take<double>("pixel y");
      observation.point = in.take_id<PointId>("point id");
      image.observations.push_back(observation);
    }
    images.push_back(std::move(image));
  }
}

void read_points(TextCursor& in, std::vector<ColmapPoint>& points) {
  while (in.next_record()) {
    ColmapPoint point;
    point.id = in.take_id<PointId>("point id");
    for (double& value : point.xyz) value = in.take<double>("coordinate");
    for (std::uint8_t& value : point.rgb) value = in.take<std::uint8_t>("colour (0 to 255)");
    point.error_px = in.take<double>("reprojection error");
    while (!in.line_done()) {
      TrackElement element;
      element.image = in.take_id<ImageId>("image id of the track");
      element.observation_index = in.take<std::uint32_t>("observation index of the track");
      point.track.push_back(element);
    }
    points.push_back(std::move(point));
  }
}

SensorType take_sensor_type(TextCursor& in) {
  const std::string_view word = in.take_word("sensor type");
  if (word == "CAMERA") return SensorType::camera;
  if (word == "IMU") return SensorType::imu;
  if (word == "INVALID") return SensorType::invalid;
  const auto number = parse_integer(word);
  if (!number || *number < -1 || *number > 1) {
    in.fail("'" + std::string(word.substr(0, 40)) + "' is no sensor type (CAMERA, IMU)");
  }
  return known_sensor_type(in, static_cast<int>(*number));
}

void read_rigs(TextCursor& in, ModelBuilder& builder, std::vector<ColmapRig>& rigs) {
  while (in.next_record()) {
    ColmapRig rig;
    rig.id = in.take_id<RigId>("rig id");
    builder.check_rig(in, rig.id);
    const auto count = in.take<std::uint32_t>("number of sensors");
    // The words on the line bound the loop: a count too large fails at the first missing one.
    for (std::uint32_t s = 0; s < count; ++s) {
      RigSensor sensor;
      sensor.type = take_sensor_type(in);
      sensor.id = in.take<std::uint32_t>("sensor id");
      sensor.has_pose = s > 0 && in.take<int>("has-pose flag") != 0;
      if (sensor.has_pose) sensor.sensor_from_rig = unit_pose(in, in.take_pose());
      rig.sensors.push_back(sensor);
    }
    require_end(in);
    rigs.push_back(std::move(rig));
  }
}

void read_frames(TextCursor& in, std::vector<ColmapFrame>& frames) {
  while (in.next_record()) {
    ColmapFrame frame;
    frame.id = in.take_id<FrameId>("frame id");
    frame.rig = in.take_id<RigId>("rig id");
    frame.rig_from_world = unit_pose(in, in.take_pose());
    const auto count = in.take<std::uint32_t>("number of data");
    for (std::uint32_t d = 0; d < count; ++d) {
      FrameDatum datum;
      datum.type = take_sensor_type(in);
      datum.sensor_id = in.take<std::uint32_t>("sensor id");
      datum.data_id = in.take<std::uint64_t>("data id");
      frame.data.push_back(datum);
    }
    require_end(in);
    frames.push_back(std::move(frame));
  }
}

}  // namespace

ColmapModel read_text(const fs::path& folder) {
  ColmapModel model;
  ModelBuilder builder(model);
  const auto read = [&](const char* stem, bool optional, auto&& records) {
    const fs::path file = model_file(folder, stem, ColmapFormat::text);
    if (optional && !fs::exists(file)) return;
    TextCursor in(file);
    records(in);
  };
  read("cameras", false, [&](auto& in) { read_cameras(in, builder); });
  read("images", false, [&](auto& in) { read_images(in, builder, model.images); });
  read("points3D", false, [&](auto& in) { read_points(in, model.points); });
  read("rigs", true, [&](auto& in) { read_rigs(in, builder, model.rigs); });
  read("frames", true, [&](auto& in) { read_frames(in, model.frames); });
  return model;
}

std::size_t count_images_text(const fs::path& folder) {
  TextCursor in(model_file(folder, "images", ColmapFormat::text));
  std::size_t count = 0;
  for (; in.next_record(); ++count) in.next_line();
  return count;
}

}  // namespace skyfix::colmap_io
