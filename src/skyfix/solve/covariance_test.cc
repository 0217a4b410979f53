// How often the truth lies within the ellipsoids that should hold it in 95 of 100 cases.
#include "skyfix/solve/covariance.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "skyfix/solve/test_scene.h"

namespace skyfix::solve {
namespace {

constexpr double kChiSquare95Of6 = 12.592;

Vector6 error_of(const Rigid3& got, const Rigid3& truth) {
  Vector6 error;
  error.head<3>() = got.centre() - truth.centre();
  const Eigen::AngleAxisd turn(got.rotation.conjugate() * truth.rotation);
  error.tail<3>() = turn.angle() * turn.axis();
  return error;
}

struct Trial {
  TestPairs pairs;
  double sigma_px = 1;  // told to the solver
  bool refine_focal = false;
};

// Of 200 trials, those within the 95 % ellipsoid.
int held(const Trial& trial, const Camera& camera, const TestView& where) {
  const Rigid3 truth = pose_of(where);
  int count = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    TestPairs wanted = trial.pairs;
    wanted.seed = seed;
    auto pairs = make_pairs(camera, truth, wanted);
    for (PointPair& pair : pairs) pair.sigma_px = trial.sigma_px;
    PoseOptions options;
    options.max_error_px = 12;
    options.refine_focal = trial.refine_focal;
    const PoseEstimate got = estimate_pose(pairs, camera, options);
    if (!got.found || !got.covariance_map) continue;
    const Vector6 error = error_of(got.cam_from_map, truth);
    count += error.dot(got.covariance_map->ldlt().solve(error)) < kChiSquare95Of6;
  }
  return count;
}

TEST(Covariance, EllipsoidsHoldTheTruth) {
  const Trial trial{.pairs = {.count = 80, .relief = 8, .noise_px = 1}};
  const int count = held(trial, distorted_camera(), {.heading_deg = 50, .tilt_deg = 20});
  EXPECT_GE(count, 178);
  EXPECT_LE(count, 199);
}

TEST(Covariance, IsEstimatedNotAssumed) {
  // Twice the noise that sigma promises, then a third of it.
  const Trial noisy{.pairs = {.count = 80, .relief = 8, .noise_px = 2}};
  EXPECT_GE(held(noisy, survey_camera(), {.tilt_deg = 20}), 178);
  const Trial calm{.pairs = {.count = 80, .relief = 8, .noise_px = 1}, .sigma_px = 3};
  const int count = held(calm, survey_camera(), {.tilt_deg = 20});
  EXPECT_GE(count, 178);
  EXPECT_LE(count, 199);
}

TEST(Covariance, HoldsForFewPairs) {
  const Trial trial{.pairs = {.count = 20, .relief = 8, .noise_px = 1}};
  EXPECT_GE(held(trial, distorted_camera(), {.heading_deg = 50, .tilt_deg = 20}), 176);
}

TEST(Covariance, HoldsOnAPlaneSeenStraightDownWithOutliers) {
  const Trial trial{.pairs = {.count = 120, .noise_px = 1, .outlier_share = 0.3}};
  EXPECT_GE(held(trial, survey_camera(), {.heading_deg = 10}), 176);
}

TEST(Covariance, CountsTheUncertaintyOfTheFocalLength) {
  const Trial trial{.pairs = {.count = 150, .relief = 15, .noise_px = 1}, .refine_focal = true};
  const int count = held(trial, distorted_camera(), {.tilt_deg = 40});
  EXPECT_GE(count, 176);
  EXPECT_LE(count, 199);
}

TEST(Covariance, SaysThatAltitudeAndFocalLengthCannotBothBeKnownOverAPlane) {
  const Rigid3 truth = pose_of({});
  const auto pairs = make_pairs(survey_camera(), truth, {.count = 100, .noise_px = 1});
  PoseOptions options;
  const PoseEstimate fixed = estimate_pose(pairs, survey_camera(), options);
  ASSERT_TRUE(fixed.covariance_map);
  options.refine_focal = true;
  const PoseEstimate free = estimate_pose(pairs, survey_camera(), options);
  ASSERT_TRUE(free.found);
  if (free.covariance_map) {
    EXPECT_GT((*free.covariance_map)(2, 2), 100 * (*fixed.covariance_map)(2, 2));
  }
}

TEST(Covariance, HasUnitsOfTheMap) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({.tilt_deg = 20});
  auto pairs = make_pairs(camera, truth, {.count = 100, .relief = 8, .noise_px = 1});
  const Matrix6 metres = estimate_pose(pairs, camera, {}).covariance_map.value();
  for (PointPair& pair : pairs) pair.point *= 10;
  const Matrix6 tenths = estimate_pose(pairs, camera, {}).covariance_map.value();
  EXPECT_NEAR(tenths(0, 0) / metres(0, 0), 100, 0.1);
  EXPECT_NEAR(tenths(0, 4) / metres(0, 4), 10, 0.01);
  EXPECT_NEAR(tenths(4, 4) / metres(4, 4), 1, 0.001);
  EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix6>(metres).eigenvalues()[0], 0);
}

TEST(Covariance, IsAbsentWithTooFewPairsAndForPointsOnALine) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({.tilt_deg = 20});
  BundleProblem problem;
  problem.frames.push_back({camera, view_from_pose(truth), {}});
  EXPECT_FALSE(last_view_covariance(problem));
  auto& observations = problem.frames[0].observations;
  for (const PointPair& pair : make_pairs(camera, truth, {.count = 4, .relief = 9})) {
    observations.push_back({pair.pixel, pair.point});
  }
  EXPECT_FALSE(last_view_covariance(problem));
  const Eigen::Vector3d from = observations[0].point;
  const Eigen::Vector3d along = observations[1].point - from;
  for (int k = 0; k < 20; ++k) {
    const Eigen::Vector3d point = from + k * 0.05 * along;
    observations.push_back({*camera.project(truth * point), point});
  }
  EXPECT_TRUE(last_view_covariance(problem));
  observations.erase(observations.begin(), observations.begin() + 4);
  EXPECT_FALSE(last_view_covariance(problem));
}

}  // namespace
}  // namespace skyfix::solve
