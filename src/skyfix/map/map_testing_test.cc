// The fixtures themselves (built into the test binary only).
#include "skyfix/map/map_testing.h"

namespace skyfix {

ColmapModel plane_model(int images, int points) {
  ColmapModel model;
  const CameraId camera_id(7);
  const Camera camera{CameraModel::simple_radial, 640, 480, {500, 320, 240, 0.01}};
  model.cameras[camera_id] = camera;
  for (int p = 0; p < points; ++p) {
    ColmapPoint point;
    point.id = PointId(5 * (p + 1));
    point.xyz = {0.3 * (p % 5) + images / 2.0 - 0.6, 0.25 * (p / 5) - 0.4, 0};
    point.rgb[0] = static_cast<std::uint8_t>(p);
    point.error_px = 0.25 + p;
    model.points.push_back(point);
  }
  for (int i = 0; i < images; ++i) {
    ColmapImage image;
    image.id = ImageId(3 * (i + 1));
    image.camera = camera_id;
    image.name = "flight 1/DJI_" + std::to_string(i + 1) + ".JPG";
    image.cam_from_world.rotation = Eigen::Quaterniond(0, 1, 0, 0);
    image.cam_from_world.translation =
        -(image.cam_from_world.rotation * Eigen::Vector3d(i, 0.5 * (i % 2), 10));
    for (ColmapPoint& point : model.points) {
      point.track.push_back({image.id, static_cast<std::uint32_t>(image.observations.size())});
      image.observations.push_back(
          {camera.project(image.cam_from_world * point.xyz).value(), point.id});
    }
    image.observations.push_back({{1.5, 2.25}, PointId()});
    model.images.push_back(image);
  }
  return model;
}

std::vector<std::string> names_with_blanks() {
  return {"A-DJI_20241016110001_0002_V_map-plan-wp-2 (402).jpg", "site 3/DJI 0001.JPG", "c.jpg"};
}

namespace {

void expect_equal_pose(const Rigid3& a, const Rigid3& b) {
  EXPECT_EQ(a.rotation.coeffs(), b.rotation.coeffs());
  EXPECT_EQ(a.translation, b.translation);
}

void expect_equal_images(const ColmapModel& a, const ColmapModel& b) {
  ASSERT_EQ(a.images.size(), b.images.size());
  for (std::size_t i = 0; i < a.images.size(); ++i) {
    const ColmapImage& left = a.images[i];
    const ColmapImage& right = b.images[i];
    EXPECT_EQ(left.id, right.id);
    EXPECT_EQ(left.camera, right.camera);
    EXPECT_EQ(left.name, right.name);
    expect_equal_pose(left.cam_from_world, right.cam_from_world);
    ASSERT_EQ(left.observations.size(), right.observations.size()) << left.name;
    for (std::size_t k = 0; k < left.observations.size(); ++k) {
      ASSERT_EQ(left.observations[k].pixel, right.observations[k].pixel);
      ASSERT_EQ(left.observations[k].point, right.observations[k].point);
    }
  }
}

void expect_equal_points(const ColmapModel& a, const ColmapModel& b) {
  ASSERT_EQ(a.points.size(), b.points.size());
  for (std::size_t p = 0; p < a.points.size(); ++p) {
    const ColmapPoint& left = a.points[p];
    const ColmapPoint& right = b.points[p];
    ASSERT_EQ(left.id, right.id);
    ASSERT_EQ(left.xyz, right.xyz);
    ASSERT_THAT(left.rgb, ::testing::ElementsAreArray(right.rgb));
    ASSERT_EQ(left.error_px, right.error_px);
    ASSERT_EQ(left.track.size(), right.track.size());
    for (std::size_t k = 0; k < left.track.size(); ++k) {
      ASSERT_EQ(left.track[k].image, right.track[k].image);
      ASSERT_EQ(left.track[k].observation_index, right.track[k].observation_index);
    }
  }
}

void expect_equal_rigs(const ColmapModel& a, const ColmapModel& b) {
  ASSERT_EQ(a.rigs.size(), b.rigs.size());
  for (std::size_t r = 0; r < a.rigs.size(); ++r) {
    EXPECT_EQ(a.rigs[r].id, b.rigs[r].id);
    ASSERT_EQ(a.rigs[r].sensors.size(), b.rigs[r].sensors.size());
    for (std::size_t s = 0; s < a.rigs[r].sensors.size(); ++s) {
      const RigSensor& left = a.rigs[r].sensors[s];
      const RigSensor& right = b.rigs[r].sensors[s];
      EXPECT_EQ(left.type, right.type);
      EXPECT_EQ(left.id, right.id);
      EXPECT_EQ(left.has_pose, right.has_pose);
      expect_equal_pose(left.sensor_from_rig, right.sensor_from_rig);
    }
  }
}

void expect_equal_frames(const ColmapModel& a, const ColmapModel& b) {
  ASSERT_EQ(a.frames.size(), b.frames.size());
  for (std::size_t f = 0; f < a.frames.size(); ++f) {
    EXPECT_EQ(a.frames[f].id, b.frames[f].id);
    EXPECT_EQ(a.frames[f].rig, b.frames[f].rig);
    expect_equal_pose(a.frames[f].rig_from_world, b.frames[f].rig_from_world);
    ASSERT_EQ(a.frames[f].data.size(), b.frames[f].data.size());
    for (std::size_t d = 0; d < a.frames[f].data.size(); ++d) {
      EXPECT_EQ(a.frames[f].data[d].type, b.frames[f].data[d].type);
      EXPECT_EQ(a.frames[f].data[d].sensor_id, b.frames[f].data[d].sensor_id);
      EXPECT_EQ(a.frames[f].data[d].data_id, b.frames[f].data[d].data_id);
    }
  }
}

}  // namespace

void expect_equal(const ColmapModel& a, const ColmapModel& b) {
  EXPECT_EQ(a.cameras, b.cameras);
  expect_equal_images(a, b);
  expect_equal_points(a, b);
  expect_equal_rigs(a, b);
  expect_equal_frames(a, b);
}

}  // namespace skyfix
