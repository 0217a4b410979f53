#include "skyfix/solve/absolute_pose.h"

#include <gtest/gtest.h>

#include <limits>

#include "skyfix/base/error.h"
#include "skyfix/geo/testing.h"
#include "skyfix/solve/test_scene.h"
#include "skyfix/solve/view.h"

namespace skyfix {
namespace {

using solve::distorted_camera;
using solve::make_pairs;
using solve::noise_pairs;
using solve::pose_of;
using solve::survey_camera;

// Case S6: an exact plane seen straight down (and tilted), any heading.
struct PlaneCase {
  double tilt_deg;
  double noise_px;
  double outlier_share;
  double centre_bar_m;
};

class ExactPlane : public ::testing::TestWithParam<PlaneCase> {};

TEST_P(ExactPlane, IsSolvedAtEveryHeading) {
  const PlaneCase c = GetParam();
  const Camera camera = survey_camera();
  for (int k = 0; k < 300; ++k) {
    const Rigid3 truth = pose_of({.heading_deg = k * 1.2, .tilt_deg = c.tilt_deg});
    const auto pairs = make_pairs(camera, truth,
                                  {.noise_px = c.noise_px,
                                   .outlier_share = c.outlier_share,
                                   .seed = 1000u + static_cast<unsigned>(k)});
    const PoseEstimate got = estimate_pose(pairs, camera, {});
    ASSERT_TRUE(got.found) << "heading " << k * 1.2;
    ASSERT_TRUE(got.cam_from_map.translation.allFinite());
    EXPECT_LE((got.cam_from_map.centre() - truth.centre()).norm(), c.centre_bar_m)
        << "heading " << k * 1.2;
    EXPECT_TRUE(got.planar);
    EXPECT_GE(got.inlier_count, 100 * (1 - c.outlier_share));
  }
}

std::vector<PlaneCase> plane_cases() {
  std::vector<PlaneCase> cases;
  for (const double tilt : {0.0, 0.5, 5.0, 30.0}) {
    cases.push_back({tilt, 0, 0, 0.001});
    cases.push_back({tilt, 1, 0, 0.3});
    cases.push_back({tilt, 0, 0.3, 0.3});
    cases.push_back({tilt, 1, 0.3, 0.3});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(S6, ExactPlane, ::testing::ValuesIn(plane_cases()), [](const auto& info) {
  const PlaneCase& c = info.param;
  return "tilt" + std::to_string(static_cast<int>(10 * c.tilt_deg)) + "tenths_noise" +
         std::to_string(static_cast<int>(c.noise_px)) + "_outliers" +
         std::to_string(static_cast<int>(100 * c.outlier_share));
});

TEST(EstimatePose, HoldsAgainstEightyPercentOutliers) {
  for (const Camera& camera : {survey_camera(), distorted_camera()}) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const Rigid3 truth = pose_of({.heading_deg = 36.0 * seed, .tilt_deg = 20});
      const auto pairs = make_pairs(
          camera, truth,
          {.count = 500, .relief = 8, .noise_px = 1, .outlier_share = 0.8, .seed = seed});
      const PoseEstimate got = estimate_pose(pairs, camera, {});
      ASSERT_TRUE(got.found);
      EXPECT_THAT(got.cam_from_map, PoseNear(truth, 0.5, 0.3));
      EXPECT_GE(got.inlier_count, 98);
      EXPECT_FALSE(got.planar);
      EXPECT_LT(got.iterations, 5000);
    }
  }
}

TEST(EstimatePose, UsesQualityToFindAFewGoodPairsAmongMany) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({.tilt_deg = 5});
  auto pairs =
      make_pairs(camera, truth, {.count = 3000, .relief = 5, .noise_px = 1, .outlier_share = 0.98});
  for (std::size_t i = 2940; i < pairs.size(); ++i) pairs[i].quality = 1;
  PoseOptions options;
  options.max_iterations = 400;  // uniform samples would need 125,000 for one hit
  const PoseEstimate got = estimate_pose(pairs, camera, options);
  ASSERT_TRUE(got.found);
  EXPECT_THAT(got.cam_from_map, PoseNear(truth, 0.5, 0.3));
}

TEST(EstimatePose, EqualInputAndSeedGiveEqualBits) {
  const Camera camera = distorted_camera();
  const auto pairs = make_pairs(camera, pose_of({.tilt_deg = 12}),
                                {.count = 200, .relief = 3, .noise_px = 1, .outlier_share = 0.5});
  const PoseEstimate a = estimate_pose(pairs, camera, {});
  const PoseEstimate b = estimate_pose(pairs, camera, {});
  EXPECT_EQ(a.cam_from_map.rotation.coeffs(), b.cam_from_map.rotation.coeffs());
  EXPECT_EQ(a.cam_from_map.translation, b.cam_from_map.translation);
  EXPECT_EQ(a.inlier, b.inlier);
  EXPECT_EQ(*a.covariance_map, *b.covariance_map);
}

TEST(EstimatePose, GivesNoPoseForDegenerateData) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({});
  const auto good = make_pairs(camera, truth, {.count = 50, .relief = 5});
  const auto found = [&](const std::vector<PointPair>& pairs) {
    const PoseEstimate got = estimate_pose(pairs, camera, {});
    EXPECT_EQ(got.inlier.size(), pairs.size());
    EXPECT_EQ(got.camera, camera);
    return got.found;
  };
  ASSERT_TRUE(found(good));
  EXPECT_FALSE(found({}));
  EXPECT_FALSE(found({good.begin(), good.begin() + 3}));

  auto line = good;
  for (PointPair& pair : line) pair.point = {pair.point.x(), 2 * pair.point.x(), 0};
  for (PointPair& pair : line) pair.pixel = *camera.project(truth * pair.point);
  EXPECT_FALSE(found(line));

  auto one_point = good;
  for (PointPair& pair : one_point) pair.point = good[0].point;
  EXPECT_FALSE(found(one_point));

  auto one_pixel = good;
  for (PointPair& pair : one_pixel) pair.pixel = good[0].pixel;
  EXPECT_FALSE(found(one_pixel));

  auto one_group = good;
  for (PointPair& pair : one_group) pair.group = 9;
  EXPECT_FALSE(found(one_group));

  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto broken = good;
    for (PointPair& pair : broken) pair.point.z() = value;
    EXPECT_FALSE(found(broken));
  }
}

TEST(EstimatePose, IgnoresNanAndHugePairsBesideGoodOnes) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({.tilt_deg = 8});
  auto pairs = make_pairs(camera, truth, {.count = 60, .relief = 5, .noise_px = 0.5});
  for (int i = 0; i < 5; ++i) pairs[i].point.x() = std::numeric_limits<double>::quiet_NaN();
  for (int i = 5; i < 10; ++i) pairs[i].pixel.y() = -1e300;
  for (int i = 10; i < 15; ++i) pairs[i].point *= 1e200;
  const PoseEstimate got = estimate_pose(pairs, camera, {});
  ASSERT_TRUE(got.found);
  EXPECT_THAT(got.cam_from_map, PoseNear(truth, 0.2, 0.2));
  for (int i = 0; i < 15; ++i) EXPECT_EQ(got.inlier[i], 0) << i;
  EXPECT_EQ(got.inlier_count, 45);
}

TEST(EstimatePose, RefusesOptionsThatMeanNothing) {
  const auto refused = [](auto change) {
    PoseOptions options;
    change(options);
    try {
      estimate_pose({}, survey_camera(), options);
    } catch (const Error& error) {
      return error.reason() == Reason::bad_option;
    }
    return false;
  };
  EXPECT_TRUE(refused([](PoseOptions& o) { o.max_error_px = 0; }));
  EXPECT_TRUE(refused([](PoseOptions& o) { o.refine_scale_px = std::nan(""); }));
  EXPECT_TRUE(refused([](PoseOptions& o) { o.max_iterations = 0; }));
  EXPECT_TRUE(refused([](PoseOptions& o) { o.confidence = 1; }));
  EXPECT_TRUE(refused([](PoseOptions& o) { o.min_inliers = 3; }));
  EXPECT_FALSE(refused([](PoseOptions&) {}));
}

TEST(RefinePose, ConvergesFromPerturbedPoses) {
  const Camera camera = distorted_camera();
  const Rigid3 truth = pose_of({.heading_deg = 70, .tilt_deg = 25});
  const auto pairs = make_pairs(camera, truth, {.count = 80, .relief = 6});
  PoseOptions options;
  options.max_error_px = 150;
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int trial = 0; trial < 30; ++trial) {
    solve::Vector6 step;
    for (int k = 0; k < 6; ++k) step[k] = unit(random) * (k < 3 ? 3.0 : 0.03);
    const Rigid3 start = solve::pose_from_view(solve::moved(solve::view_from_pose(truth), step));
    const PoseEstimate got = refine_pose(pairs, camera, start, options);
    ASSERT_TRUE(got.found);
    EXPECT_THAT(got.cam_from_map, PoseNear(truth, 1e-5, 1e-5));
    EXPECT_EQ(got.inlier_count, 80);
  }
}

TEST(RefinePose, IsRobustThoughThePoorStartMadeItForgiving) {
  const Camera camera = distorted_camera();
  const Rigid3 truth = pose_of({.heading_deg = 70, .tilt_deg = 25});
  auto pairs = make_pairs(camera, truth, {.count = 80, .relief = 6, .noise_px = 0.5});
  for (int i = 0; i < 20; ++i) pairs[i].pixel += Eigen::Vector2d(30, -25);  // all one way
  PoseOptions options;
  options.max_error_px = 150;
  solve::Vector6 step;
  step << 3, -2, 2, 0.02, 0.03, -0.02;
  const Rigid3 start = solve::pose_from_view(solve::moved(solve::view_from_pose(truth), step));
  const PoseEstimate got = refine_pose(pairs, camera, start, options);
  ASSERT_TRUE(got.found);
  EXPECT_THAT(got.cam_from_map, PoseNear(truth, 0.4, 0.2));
}

TEST(RefinePose, HasNoPoseFromAHopelessStart) {
  const Camera camera = survey_camera();
  const auto pairs = make_pairs(camera, pose_of({}), {.count = 80, .relief = 6});
  EXPECT_FALSE(refine_pose(pairs, camera, pose_of({.heading_deg = 180}), {}).found);
  Rigid3 broken = pose_of({});
  broken.translation.x() = std::nan("");
  EXPECT_FALSE(refine_pose(pairs, camera, broken, {}).found);
}

TEST(RefinePose, FindsTheFocalLengthWhereTheViewShowsIt) {
  const Camera truth_camera = distorted_camera();
  const Rigid3 truth = pose_of({.tilt_deg = 45});
  const auto pairs = make_pairs(truth_camera, truth, {.count = 300, .relief = 8, .noise_px = 0.5});
  Camera wrong = truth_camera;
  wrong.params[0] *= 1.03;
  wrong.params[1] *= 1.03;
  PoseOptions options;
  options.max_error_px = 20;
  options.refine_focal = true;
  const PoseEstimate got = estimate_pose(pairs, wrong, options);
  ASSERT_TRUE(got.found);
  EXPECT_NEAR(got.camera.params[0], truth_camera.params[0], 0.005 * truth_camera.params[0]);
  EXPECT_NEAR(got.camera.params[1] / got.camera.params[0],
              truth_camera.params[1] / truth_camera.params[0], 1e-12);
  EXPECT_THAT(got.cam_from_map, PoseNear(truth, 1.0, 0.3));
}

}  // namespace
}  // namespace skyfix
