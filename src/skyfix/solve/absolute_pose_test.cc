#include "skyfix/solve/absolute_pose.h"

#include <gtest/gtest.h>

#include "skyfix/geo/testing.h"
#include "skyfix/solve/test_scene.h"

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
}  // namespace
}  // namespace skyfix
