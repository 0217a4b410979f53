#include "skyfix/report/map_sketch_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/geo/testing.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using report_testing::scratch_folder;

// Two cameras over a flat field in the x, z plane of the map's own frame; y is down, as in a model
// whose frame is that of its first, level camera.
ColmapModel flat_model() {
  ColmapModel model;
  model.cameras[CameraId(1)] = Camera{CameraModel::simple_pinhole, 640, 480, {500, 320, 240}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    ColmapImage image;
    image.id = ImageId(i + 1);
    image.camera = CameraId(1);
    image.name = "m" + std::to_string(i) + ".jpg";
    // Looks along +y, image-up along +z: x right, y = -z, z = y.
    image.cam_from_world.rotation =
        Eigen::Quaterniond((Eigen::Matrix3d() << 1, 0, 0, 0, 0, -1, 0, 1, 0).finished());
    image.cam_from_world.translation =
        -(image.cam_from_world.rotation * Eigen::Vector3d(10.0 * i, -50, 5));
    model.images.push_back(image);
  }
  for (std::uint32_t k = 0; k < 100; ++k) {
    ColmapPoint point;
    point.id = PointId(k + 1);
    point.xyz = {k % 10 * 4.0, 0.01 * (k % 3), k / 10 * 3.0};
    point.rgb[1] = 200;
    for (std::uint32_t i = 0; i < 2; ++i) {
      point.track.push_back({ImageId(i + 1), k});
      model.images[i].observations.push_back({{k + 0.5, 10}, point.id});
    }
    model.points.push_back(point);
  }
  return model;
}

Map opened(const ColmapModel& model, const Georegistration& georegistration) {
  const std::filesystem::path folder = scratch_folder() / "map";
  MapWriter(model, georegistration).write(folder, false);
  return Map::open(folder);
}

Fix fix_at(const ColmapModel& model, const std::string& name) {
  Fix fix = sample_ok_fix(name, 1);
  fix.pose->cam_from_world = model.images[0].cam_from_world;
  return fix;
}

TEST(MapSketchData, WithoutGeoregistrationLooksDownTheThinAxis) {
  const ColmapModel model = flat_model();
  const Map map = opened(model, {});
  const MapSketch sketch = make_map_sketch(map, {{fix_at(model, "q.jpg"), {}}}, nullptr, "t");
  EXPECT_FALSE(sketch.north_up);
  EXPECT_EQ(sketch.x_axis, "x");  // x right, z up: seen from -y, where the cameras are
  EXPECT_EQ(sketch.y_axis, "z");
  EXPECT_EQ(sketch.unit, "map units");
  EXPECT_EQ(sketch.points.size(), 100u);
  EXPECT_EQ(sketch.points[0].rgb[1], 200);
  ASSERT_EQ(sketch.map_cameras.size(), 2u);
  EXPECT_THAT(sketch.map_cameras[1], VectorNear(Eigen::Vector2d(10, 5), 1e-9));
  EXPECT_THAT(*sketch.frames[0].position, VectorNear(Eigen::Vector2d(0, 5), 1e-9));
  EXPECT_THAT(sketch.frames[0].heading->normalized(), VectorNear(Eigen::Vector2d(0, 1), 1e-9));
  // covariance_map: the rows of x and z.
  EXPECT_NEAR((*sketch.frames[0].covariance)(0, 1), 0, 1e-12);
  EXPECT_NEAR((*sketch.frames[0].covariance)(0, 0), 0.04, 1e-12);
}

TEST(MapSketchData, LevelCamerasLookingAheadAreSeenFromAboveToo) {
  ColmapModel model = flat_model();
  // The first camera's own frame, y down; tilted up by a tenth, as a climbing drone's.
  for (ColmapImage& image : model.images) {
    image.cam_from_world.rotation =
        Eigen::Quaterniond(Eigen::AngleAxisd(-0.1, Eigen::Vector3d::UnitX()));
    image.cam_from_world.translation = {0, 0, 20};
  }
  const MapSketch sketch = make_map_sketch(opened(model, {}), {}, nullptr, "t");
  EXPECT_EQ(sketch.x_axis, "x");
  EXPECT_EQ(sketch.y_axis, "z");
}

TEST(MapSketchData, WithGeoregistrationIsEastNorth) {
  const ColmapModel model = flat_model();
  Georegistration geo = georegistration_at_origin({46.8, -91.9, 0}, AltitudeDatum::ellipsoid);
  geo.enu_from_map.scale = 2;
  geo.enu_from_map.translation = {100, 200, 0};
  const Map map = opened(model, geo);
  Reference reference;
  reference.queries = {{"folder/q.jpg", model.images[1].cam_from_world}};
  const MapSketch sketch =
      make_map_sketch(map,
                      {{fix_at(model, "q.jpg"), {}},
                       {sample_bad_fix("r.jpg", 2, FixStatus::failed, Reason::no_features), {}}},
                      &reference, "t");
  EXPECT_TRUE(sketch.north_up);
  EXPECT_THAT(*sketch.frames[0].position, VectorNear(Eigen::Vector2d(100, 100), 1e-9));
  ASSERT_TRUE(sketch.frames[0].reference);
  EXPECT_THAT(*sketch.frames[0].reference, VectorNear(Eigen::Vector2d(120, 100), 1e-9));
  EXPECT_NEAR((*sketch.frames[0].covariance)(0, 1), 0.004, 1e-12);  // covariance_enu
  EXPECT_FALSE(sketch.frames[1].position);
  EXPECT_EQ(sketch.frames[1].reason, "no_features");
}

}  // namespace
}  // namespace skyfix
