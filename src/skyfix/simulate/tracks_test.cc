#include "skyfix/simulate/tracks.h"

#include <gmock/gmock.h>

#include "skyfix/simulate/testing.h"
#include "skyfix/simulate/world.h"

namespace skyfix::sim {
namespace {

TEST(SimulateFlight, ObservationsAreExactProjections) {
  const SimulateOptions options = small_flight();
  const Scene scene(options.seed, scene_half_size_m(options));
  const SimulatedFlight flight = simulate_flight(options, scene);
  const ColmapModel& model = flight.model;
  ASSERT_EQ(model.points.size(), 500);
  ASSERT_EQ(model.images.size(), 6);
  std::size_t track_elements = 0;
  std::size_t observations = 0;
  for (const ColmapImage& image : model.images) observations += image.observations.size();
  for (const ColmapPoint& point : model.points) {
    EXPECT_GE(point.track.size(), 2);
    EXPECT_EQ(point.error_px, 0);
    EXPECT_NEAR(point.xyz.z(), scene.height(point.xyz.x(), point.xyz.y()), 1e-9);
    for (const TrackElement& element : point.track) {
      const ColmapImage& image = model.images[element.image.value - 1];
      ASSERT_EQ(image.id, element.image);
      const ColmapObservation& seen = image.observations.at(element.observation_index);
      EXPECT_EQ(seen.point, point.id);
      const Camera& camera = model.cameras.at(image.camera);
      const auto pixel = camera.project(image.cam_from_world * point.xyz);
      ASSERT_TRUE(pixel);
      EXPECT_LT((*pixel - seen.pixel).norm(), 1e-6);
      EXPECT_TRUE(seen.pixel.x() >= 0 && seen.pixel.x() < camera.width);
      EXPECT_TRUE(seen.pixel.y() >= 0 && seen.pixel.y() < camera.height);
      ++track_elements;
    }
  }
  EXPECT_EQ(track_elements, observations);
  EXPECT_GT(track_elements, 3 * model.points.size() / 2);
}

TEST(SimulateFlight, IsAFunctionOfItsOptions) {
  const SimulateOptions options = small_flight();
  const Scene scene(options.seed, scene_half_size_m(options));
  const SimulatedFlight a = simulate_flight(options, scene);
  const SimulatedFlight b = simulate_flight(options, scene);
  ASSERT_EQ(a.model.points.size(), b.model.points.size());
  for (std::size_t i = 0; i < a.model.points.size(); ++i) {
    EXPECT_EQ(a.model.points[i].xyz, b.model.points[i].xyz);
  }
  SimulateOptions other = options;
  other.seed = 8;
  EXPECT_NE(simulate_flight(other, scene).model.points[0].xyz, a.model.points[0].xyz);
}

// A spot of bare ground close behind a house is seen from above it, and not across the house.
TEST(Observe, NotBehindAHouse) {
  const Scene scene(1, 250);
  const World& world = Renderer::world(scene);
  const Camera camera{CameraModel::simple_pinhole, 1200, 800, {900, 600, 400}};
  const auto looking_at = [](const Eigen::Vector3d& from, const Eigen::Vector3d& to) {
    Rigid3 pose;
    pose.rotation = Eigen::Quaterniond::FromTwoVectors(to - from, Eigen::Vector3d::UnitZ());
    pose.translation = -(pose.rotation * from);
    return pose;
  };
  int tested = 0;
  for (const Solid& house : world.solids.solids()) {
    if (house.use != SolidUse::house) continue;
    const Eigen::Vector2d across(-house.axis.y(), house.axis.x());
    const Eigen::Vector2d behind = house.centre + across * (house.half.y() + 0.5);
    if (world.solids.height(behind)) continue;
    const Eigen::Vector3d spot(behind.x(), behind.y(), world.terrain.height(behind));
    const Eigen::Vector2d beside = house.centre - across * 60;
    const Eigen::Vector3d camera_side(beside.x(), beside.y(), 60);
    const Eigen::Vector3d camera_above(behind.x(), behind.y(), 80);
    EXPECT_FALSE(observe(scene, camera, looking_at(camera_side, spot), spot));
    const auto pixel = observe(scene, camera, looking_at(camera_above, spot), spot);
    ASSERT_TRUE(pixel);
    EXPECT_LT((*pixel - Eigen::Vector2d(600, 400)).norm(), 1e-6);
    ++tested;
  }
  EXPECT_GT(tested, 5);
}

TEST(Observe, NotOutsideThePictureNorBelowTheSurface) {
  const Scene scene(1, 250);
  const Camera camera{CameraModel::simple_pinhole, 1200, 800, {900, 600, 400}};
  Rigid3 pose;
  pose.rotation = cam_from_enu(GimbalAngles{0, -90, 0});
  pose.translation = -(pose.rotation * Eigen::Vector3d(0, 0, 80));
  const Eigen::Vector3d below(0, 0, scene.height(0, 0));
  EXPECT_TRUE(observe(scene, camera, pose, below));
  EXPECT_FALSE(observe(scene, camera, pose, below - Eigen::Vector3d(0, 0, 0.5)));
  EXPECT_FALSE(observe(scene, camera, pose, below + Eigen::Vector3d(0, 0, 0.5)));
  EXPECT_FALSE(observe(scene, camera, pose, {120, 0, scene.height(120, 0)}));
  EXPECT_FALSE(observe(scene, camera, pose, {0, 0, 200}));
}

}  // namespace
}  // namespace skyfix::sim
