#include <gtest/gtest.h>

#include "skyfix/solve/absolute_pose.h"
#include "skyfix/solve/test_scene.h"

namespace skyfix {
namespace {

using solve::make_pairs;
using solve::noise_pairs;
using solve::pose_of;
using solve::survey_camera;

PoseOptions quick_options() {
  PoseOptions options;
  options.max_iterations = 3000;
  return options;
}

TEST(PoseEvidence, PureNoiseIsNeverEvidence) {
  const Camera small{CameraModel::simple_pinhole, 1600, 1066, {1100, 800, 533}};
  double strongest = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const Camera& camera = seed % 2 ? survey_camera() : small;
    PoseOptions options = quick_options();
    options.seed = seed;
    const int count = seed % 4 < 2 ? 30 : 150;
    const auto pairs = noise_pairs(camera, count, seed);
    const PoseEstimate got = estimate_pose(pairs, camera, options);
    if (!got.found) continue;
    const PoseEvidence evidence = pose_evidence(pairs, got, options);
    strongest = std::min(strongest, evidence.log10_false_alarms);
    EXPECT_GT(evidence.log10_false_alarms, -2) << "seed " << seed << ", " << got.inlier_count;
    EXPECT_LT(evidence.inlier_ratio, 0.5);
  }
  RecordProperty("strongest_log10_false_alarms", std::to_string(strongest));
}

TEST(PoseEvidence, ATruePoseIsStrongEvenAmongManyOutliers) {
  const Camera camera = survey_camera();
  for (const auto& [count, outliers, bar] :
       {std::tuple(100, 0.0, -200.0), {100, 0.5, -80.0}, {400, 0.9, -30.0}, {120, 0.9, -5.0}}) {
    const auto pairs = make_pairs(
        camera, pose_of({.tilt_deg = 10}),
        {.count = count, .relief = 5, .noise_px = 1, .outlier_share = outliers, .seed = 5});
    PoseOptions options;
    const PoseEstimate got = estimate_pose(pairs, camera, options);
    ASSERT_TRUE(got.found);
    const PoseEvidence evidence = pose_evidence(pairs, got, options);
    EXPECT_LT(evidence.log10_false_alarms, bar) << count << " pairs, outliers " << outliers;
    EXPECT_NEAR(evidence.inlier_ratio, 1 - outliers, 0.03);
  }
}

TEST(PoseEvidence, LooserInliersAreWeakerEvidence) {
  const Camera camera = survey_camera();
  double last = -1e9;
  for (const double noise_px : {0.5, 1.0, 2.0, 4.0}) {
    const auto pairs =
        make_pairs(camera, pose_of({.tilt_deg = 10}),
                   {.count = 60, .relief = 5, .noise_px = noise_px, .outlier_share = 0.3});
    PoseOptions options;
    options.max_error_px = 12;
    const PoseEstimate got = estimate_pose(pairs, camera, options);
    const double now = pose_evidence(pairs, got, options).log10_false_alarms;
    EXPECT_GT(now, last);
    last = now;
  }
}

TEST(PoseEvidence, MorePixelsForAMapPointAreMoreChances) {
  const Camera camera = survey_camera();
  auto pairs = make_pairs(camera, pose_of({.tilt_deg = 10}), {.count = 40, .noise_px = 1});
  const PoseEstimate got = estimate_pose(pairs, camera, {});
  const double alone = pose_evidence(pairs, got, {}).log10_false_alarms;
  auto many = pairs;
  for (int copy = 1; copy <= 4; ++copy) {
    for (PointPair pair : pairs) {
      pair.pixel += Eigen::Vector2d(100 * copy, 50);
      many.push_back(pair);
    }
  }
  PoseEstimate same = got;
  same.inlier.resize(many.size(), 0);
  const PoseEvidence crowded = pose_evidence(many, same, {});
  EXPECT_GT(crowded.log10_false_alarms, alone + 5);
  EXPECT_DOUBLE_EQ(crowded.inlier_ratio, 1);
}

TEST(PoseEvidence, CoverageAndHullFollowWhereTheInliersLie) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({});
  const auto all = make_pairs(camera, truth, {.count = 1000, .relief = 3});
  std::vector<PointPair> quarter;
  for (const PointPair& pair : all) {
    if (pair.pixel.x() < camera.width / 2 && pair.pixel.y() < camera.height / 2) {
      quarter.push_back(pair);
    }
  }
  const PoseEvidence wide = pose_evidence(all, estimate_pose(all, camera, {}), {});
  EXPECT_GT(wide.coverage, 0.95);
  EXPECT_GT(wide.hull_fraction, 0.9);
  const PoseEvidence narrow = pose_evidence(quarter, estimate_pose(quarter, camera, {}), {});
  EXPECT_NEAR(narrow.coverage, 0.25, 0.02);
  EXPECT_NEAR(narrow.hull_fraction, 0.24, 0.02);
}

TEST(PoseEvidence, HullOfKnownShape) {
  const Camera camera{CameraModel::simple_pinhole, 100, 100, {100, 50, 50}};
  PoseEstimate estimate;
  estimate.found = true;
  estimate.camera = camera;
  std::vector<PointPair> pairs;
  for (const auto& [x, y] : {std::pair(10.0, 10.0),
                             {90.0, 10.0},
                             {90.0, 50.0},
                             {10.0, 50.0},
                             {50.0, 30.0},
                             {50.0, 10.0}}) {
    PointPair pair;
    pair.pixel = {x, y};
    pair.point = {(x - 50) / 100, (y - 50) / 100, 1};
    pair.group = static_cast<std::uint32_t>(pairs.size());
    pairs.push_back(pair);
  }
  estimate.inlier.assign(pairs.size(), 1);
  EXPECT_NEAR(pose_evidence(pairs, estimate, {}).hull_fraction, 0.8 * 0.4, 1e-12);
}

TEST(PoseEvidence, IsNothingWithoutAPose) {
  const auto pairs = noise_pairs(survey_camera(), 20, 1);
  const PoseEvidence none = pose_evidence(pairs, PoseEstimate{}, {});
  EXPECT_EQ(none.inlier_ratio, 0);
  EXPECT_EQ(none.log10_false_alarms, 0);
  EXPECT_EQ(pose_evidence({}, PoseEstimate{}, {}).coverage, 0);
}

}  // namespace
}  // namespace skyfix
