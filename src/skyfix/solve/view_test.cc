#include "skyfix/solve/view.h"

#include <gtest/gtest.h>

#include "skyfix/geo/testing.h"
#include "skyfix/solve/test_scene.h"

namespace skyfix::solve {
namespace {

const Rigid3 kPose = pose_of({.heading_deg = 33, .tilt_deg = 25, .foot = {5, -7, 2}});

TEST(View, ComesBackAsThePoseItWasMadeOf) {
  EXPECT_THAT(pose_from_view(view_from_pose(kPose)), PoseNear(kPose, 1e-9, 1e-6));
}

TEST(View, MovesTheCentreInMapUnitsAndTurnsInMapAxes) {
  Vector6 step = Vector6::Zero();
  step << 1, 2, 3, 0, 0, std::numbers::pi / 2;
  const View start = view_from_pose(kPose);
  const View end = moved(start, step);
  EXPECT_THAT(end.centre, VectorNear(start.centre + Eigen::Vector3d(1, 2, 3), 1e-12));
  // What looked along map x looks along map y after a quarter turn about map z.
  const Eigen::Vector3d axis = start.cam_from_map * Eigen::Vector3d::UnitX();
  EXPECT_THAT(Eigen::Vector3d(end.cam_from_map.transpose() * axis),
              VectorNear(Eigen::Vector3d::UnitY(), 1e-12));
}

TEST(View, DerivativesAgreeWithDifferences) {
  const Camera camera = distorted_camera();
  const View view = view_from_pose(kPose);
  const Eigen::Vector3d point = make_pairs(camera, kPose, {.count = 5, .relief = 3})[4].point;
  const Linearised seen = linearise(camera, view, point).value();
  constexpr double kStep = 1e-6;
  for (int k = 0; k < 6; ++k) {
    Vector6 step = Vector6::Zero();
    step[k] = kStep;
    const Eigen::Vector2d ahead = *camera.project(moved(view, step).to_camera(point));
    const Eigen::Vector2d behind = *camera.project(moved(view, -step).to_camera(point));
    const Eigen::Vector2d slope = (ahead - behind) / (2 * kStep);
    EXPECT_LT((slope - seen.by_view.col(k)).norm(), 1e-5 * (1 + slope.norm())) << "tangent " << k;
  }
  for (int k = 0; k < 3; ++k) {
    const Eigen::Vector3d step = kStep * Eigen::Vector3d::Unit(k);
    const Eigen::Vector2d slope = (*camera.project(view.to_camera(point + step)) -
                                   *camera.project(view.to_camera(point - step))) /
                                  (2 * kStep);
    EXPECT_LT((slope - seen.by_point.col(k)).norm(), 1e-5 * (1 + slope.norm())) << "axis " << k;
  }
}

TEST(View, PointsBehindTheCameraHaveInfiniteError) {
  const Camera camera = survey_camera();
  const View view = view_from_pose(pose_of({}));
  EXPECT_EQ(squared_error_px(camera, view, {0, 0, 200}, {2736, 1824}),
            std::numeric_limits<double>::infinity());
  EXPECT_FALSE(linearise(camera, view, {0, 0, 200}));
}

TEST(View, ClearlyDifferentMeansFivePercentOrFiveDegrees) {
  const View view = view_from_pose(kPose);
  Vector6 step = Vector6::Zero();
  step[0] = 4.9;
  EXPECT_FALSE(clearly_different(view, moved(view, step), 100));
  step[0] = 5.1;
  EXPECT_TRUE(clearly_different(view, moved(view, step), 100));
  step << 0, 0, 0, 0.08, 0, 0;  // 4.6 degrees
  EXPECT_FALSE(clearly_different(view, moved(view, step), 100));
  step[3] = 0.09;
  EXPECT_TRUE(clearly_different(view, moved(view, step), 100));
}

}  // namespace
}  // namespace skyfix::solve
