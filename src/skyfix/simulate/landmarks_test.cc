#include "skyfix/simulate/landmarks.h"

#include <gmock/gmock.h>

#include "skyfix/simulate/flight.h"

namespace skyfix::sim {
namespace {

Eigen::Vector3d on_surface(const Scene& scene, double east, double north) {
  return {east, north, scene.height(east, north)};
}

TEST(Landmarks, MergeDetectionsOfOnePlaceAndPreferOftenSeenOnes) {
  const Scene scene(2, 100);
  const auto often = on_surface(scene, 10, 10);
  const auto often_again = on_surface(scene, 10.05, 10);
  const auto once = on_surface(scene, 10.8, 10.8);
  const auto twice = on_surface(scene, 40, -20);
  const auto chosen =
      choose_landmarks(scene, {{once, often}, {often_again, twice}, {often, twice}}, 0.15, 2);
  ASSERT_EQ(chosen.size(), 2);
  EXPECT_LT((chosen[0] - often).head<2>().norm(), 0.06);
  EXPECT_NEAR(chosen[0].z(), scene.height(chosen[0].x(), chosen[0].y()), 1e-9);
  EXPECT_LT((chosen[1] - twice).norm(), 1e-9);
}

TEST(Landmarks, AreNotAllInOneSpot) {
  const Scene scene(2, 100);
  std::vector<Eigen::Vector3d> crowded;
  for (int i = 0; i < 50; ++i) crowded.push_back(on_surface(scene, 0.5 + 0.1 * i, 1.0));
  std::vector<Eigen::Vector3d> photo = crowded;
  for (int i = 1; i < 12; ++i) photo.push_back(on_surface(scene, 7.0 * i, 40));
  const auto chosen = choose_landmarks(scene, {photo, photo}, 0.05, 15);
  int in_the_crowd = 0;
  for (const Eigen::Vector3d& point : chosen) in_the_crowd += point.y() < 10;
  EXPECT_EQ(in_the_crowd, 4);  // what the 11 other spots do not fill
  EXPECT_EQ(chosen.size(), 15);
}

TEST(Landmarks, NothingFromNothing) {
  const Scene scene(2, 100);
  EXPECT_TRUE(choose_landmarks(scene, {}, 0.1, 10).empty());
  EXPECT_TRUE(choose_landmarks(scene, {{}, {}}, 0.1, 10).empty());
}

// What the model is made for: a detector finds the same places in a second photo.
TEST(Landmarks, AreFoundAgainFromAnotherPose) {
  SimulateOptions options;
  options.width_px = 400;
  const Scene scene(1, 200);
  const Camera camera = flight_camera(options);
  const auto detections = [&](const Eigen::Vector3d& centre, double yaw_deg) {
    Rigid3 pose;
    pose.rotation = cam_from_enu(GimbalAngles{yaw_deg, -89, 0});
    pose.translation = -(pose.rotation * centre);
    return detect_surface_points(scene, camera, pose, render(scene, camera, pose, {}, 0, 1));
  };
  const auto first = detections({0, 0, 30}, 0);
  const auto second = detections({2, 1, 33}, 40);
  ASSERT_GT(first.size(), 200);
  int again = 0;
  int inside = 0;
  for (const Eigen::Vector3d& point : first) {
    if (point.head<2>().cwiseAbs().maxCoeff() > 9) continue;
    ++inside;
    double nearest = 1e9;
    for (const Eigen::Vector3d& other : second) nearest = std::min(nearest, (other - point).norm());
    again += nearest < 0.15;  // 1.5 px
  }
  ASSERT_GT(inside, 50);
  EXPECT_GT(double(again) / inside, 0.5);
}

}  // namespace
}  // namespace skyfix::sim
