#include "skyfix/solve/alternative.h"

#include <gtest/gtest.h>

#include "skyfix/geo/testing.h"
#include "skyfix/solve/planar.h"
#include "skyfix/solve/test_scene.h"

namespace skyfix {
namespace {

using solve::make_pairs;
using solve::pose_of;
using solve::survey_camera;

// A small flat target from afar: nearly a weak-perspective view, where both sides look alike.
std::vector<PointPair> target_pairs(const Camera& camera, const Rigid3& cam_from_map,
                                    double noise_px, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> side(-2, 2);
  std::normal_distribution<double> noise(0, noise_px);
  std::vector<PointPair> pairs;
  for (std::uint32_t i = 0; i < 40; ++i) {
    PointPair pair;
    pair.point = {side(random), side(random), 0};
    pair.pixel =
        *camera.project(cam_from_map * pair.point) + Eigen::Vector2d(noise(random), noise(random));
    pair.group = i;
    pairs.push_back(pair);
  }
  return pairs;
}

// Above a target at the origin, looking at it from `tilt_deg` off the vertical.
Rigid3 over_target(double tilt_deg) {
  constexpr double kDistance = 120;
  Rigid3 pose = pose_of({.heading_deg = 20, .tilt_deg = tilt_deg});
  pose.translation = {0, 0, kDistance};
  return pose;
}

TEST(Alternative, ReportsTheSecondPoseOfAnAmbiguousPlane) {
  const Camera camera = survey_camera();
  const Rigid3 truth = over_target(25);
  const Rigid3 mirrored = over_target(-25);
  int right_is_among_them = 0;
  int reported = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto pairs = target_pairs(camera, truth, 1.5, seed);
    const PoseEstimate got = estimate_pose(pairs, camera, {});
    ASSERT_TRUE(got.found);
    EXPECT_TRUE(got.planar);
    if (!got.alternative) continue;
    ++reported;
    EXPECT_GE(got.alternative->inliers, 35);
    EXPECT_LE(got.alternative->rms_px, 1.25 * got.rms_px);
    const auto is_near = [](const Rigid3& a, const Rigid3& b) {
      return rotation_angle(a.rotation, b.rotation) < 0.25;
    };
    right_is_among_them +=
        (is_near(got.cam_from_map, truth) && is_near(got.alternative->cam_from_map, mirrored)) ||
        (is_near(got.cam_from_map, mirrored) && is_near(got.alternative->cam_from_map, truth));
  }
  EXPECT_GE(reported, 18);
  EXPECT_GE(right_is_among_them, 18);
}

TEST(Alternative, IsNoneOnAPlaneThatPerspectiveSettles) {
  const Camera camera = survey_camera();
  for (const double tilt : {0.0, 5.0, 30.0}) {
    const auto pairs =
        make_pairs(camera, pose_of({.tilt_deg = tilt}), {.count = 100, .noise_px = 1});
    const PoseEstimate got = estimate_pose(pairs, camera, {});
    EXPECT_TRUE(got.planar);
    EXPECT_FALSE(got.alternative) << "tilt " << tilt;
  }
}

TEST(Alternative, TheMirroredViewSeesThePlaneNearlyAlike) {
  const Camera camera = survey_camera();
  const solve::View view = solve::view_from_pose(over_target(25));
  const solve::View other =
      solve::mirrored_view(view, {Eigen::Vector3d::Zero(), Eigen::Vector3d::UnitZ()});
  EXPECT_NEAR(other.cam_from_map.determinant(), 1, 1e-12);
  EXPECT_TRUE(solve::clearly_different(view, other, 120));
  for (const PointPair& pair : target_pairs(camera, over_target(25), 0, 1)) {
    EXPECT_LT(solve::squared_error_px(camera, other, pair.point, pair.pixel), 4 * 4);
  }
}

TEST(Alternative, FindsASecondPlaceThatExplainsTheRest) {
  const Camera camera = survey_camera();
  const Rigid3 first = pose_of({.heading_deg = 10, .tilt_deg = 10});
  const Rigid3 second = pose_of({.heading_deg = 100, .tilt_deg = 10, .foot = {60, 40, 0}});
  auto pairs = make_pairs(camera, first, {.count = 120, .relief = 5, .noise_px = 1, .seed = 1});
  auto more = make_pairs(camera, second, {.count = 90, .relief = 5, .noise_px = 1, .seed = 2});
  for (PointPair& pair : more) pair.group += 1000;
  pairs.insert(pairs.end(), more.begin(), more.end());
  const PoseEstimate got = estimate_pose(pairs, camera, {});
  ASSERT_TRUE(got.found);
  EXPECT_THAT(got.cam_from_map, PoseNear(first, 0.5, 0.3));
  ASSERT_TRUE(got.alternative);
  EXPECT_THAT(got.alternative->cam_from_map, PoseNear(second, 0.5, 0.3));
  EXPECT_GE(got.alternative->inliers, 88);
  EXPECT_LT(got.alternative->inliers, got.inlier_count);
}

TEST(Planar, ToleratesNoiseButNotRelief) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({.tilt_deg = 10});
  const auto planar = [&](double relief) {
    const auto pairs = make_pairs(camera, truth, {.count = 100, .relief = relief, .noise_px = 1});
    return estimate_pose(pairs, camera, {}).planar;
  };
  EXPECT_TRUE(planar(0));
  EXPECT_TRUE(planar(0.03));  // a pixel is 2.7 cm
  EXPECT_FALSE(planar(0.5));
}

}  // namespace
}  // namespace skyfix
