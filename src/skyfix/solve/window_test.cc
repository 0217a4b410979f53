#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/geo/testing.h"
#include "skyfix/solve/absolute_pose.h"
#include "skyfix/solve/test_scene.h"

namespace skyfix {
namespace {

using solve::distorted_camera;
using solve::pose_of;

struct TestWindow {
  std::vector<WindowFrame> frames;
  std::vector<Rigid3> truth;
};

// Frames on a line over the same ground; the map has each point `map_sigma` beside its true place.
TestWindow make_test_window(int frame_count, double map_sigma, double noise_px, unsigned seed) {
  const Camera camera = distorted_camera();
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::normal_distribution<double> gauss(0, 1);
  TestWindow out;
  for (int f = 0; f < frame_count; ++f) {
    out.truth.push_back(pose_of({.heading_deg = 15, .tilt_deg = 10, .foot = {4.0 * f, 0, 0}}));
    out.frames.push_back({camera, out.truth.back(), {}});
  }
  for (std::uint32_t g = 0; g < 60; ++g) {
    const Eigen::Vector3d place(60 * unit(random) + 10, 45 * unit(random) + 15, 6 * unit(random));
    const Eigen::Vector3d in_map =
        place + map_sigma * Eigen::Vector3d(gauss(random), gauss(random), gauss(random));
    for (int f = 0; f < frame_count; ++f) {
      const auto pixel = camera.project(out.truth[f] * place);
      if (!pixel || pixel->x() < 0 || pixel->y() < 0 || pixel->x() > camera.width ||
          pixel->y() > camera.height) {
        continue;
      }
      PointPair pair;
      pair.pixel = *pixel + noise_px * Eigen::Vector2d(gauss(random), gauss(random));
      pair.point = in_map;
      pair.group = g;
      out.frames[f].pairs.push_back(pair);
    }
  }
  for (WindowFrame& frame : out.frames) {
    frame.cam_from_map =
        refine_pose(frame.pairs, frame.camera, frame.cam_from_map, {}).cam_from_map;
  }
  return out;
}

TEST(RefineWindow, OneFrameIsRefinedAsAlone) {
  const TestWindow window = make_test_window(1, 0, 1, 3);
  const PoseEstimate alone =
      refine_pose(window.frames[0].pairs, window.frames[0].camera, window.truth[0], {});
  const PoseEstimate got = refine_window(window.frames, 0.05, {});
  ASSERT_TRUE(got.found);
  EXPECT_THAT(got.cam_from_map, PoseNear(alone.cam_from_map, 3e-3, 2e-3));
  EXPECT_EQ(got.inlier_count, alone.inlier_count);
}

TEST(RefineWindow, ExactDataStayExact) {
  const TestWindow window = make_test_window(4, 0, 0, 4);
  const PoseEstimate got = refine_window(window.frames, 0.05, {});
  ASSERT_TRUE(got.found);
  EXPECT_THAT(got.cam_from_map, PoseNear(window.truth.back(), 1e-5, 1e-5));
  EXPECT_EQ(got.inlier.size(), window.frames.back().pairs.size());
  EXPECT_LT(got.rms_px, 1e-4);
}

TEST(RefineWindow, LetsPointsMoveWithinTheirPrior) {
  // The map's points are off by 10 cm (1.2 px): moving them explains the pixels better.
  const TestWindow window = make_test_window(6, 0.1, 0.1, 5);
  const WindowFrame& newest = window.frames.back();
  const PoseEstimate alone = refine_pose(newest.pairs, newest.camera, newest.cam_from_map, {});
  const PoseEstimate loose = refine_window(window.frames, 0.1, {});
  const PoseEstimate tight = refine_window(window.frames, 1e-5, {});
  ASSERT_TRUE(loose.found && tight.found);
  EXPECT_LT(loose.rms_px, 0.5 * alone.rms_px);
  EXPECT_NEAR(tight.rms_px, alone.rms_px, 0.02 * alone.rms_px);
}

TEST(RefineWindow, IsNoWorseThanFramesAloneAndHoldsItsEllipsoid) {
  double alone_squared = 0;
  double window_squared = 0;
  int held = 0;
  constexpr int kTrials = 40;
  for (unsigned seed = 1; seed <= kTrials; ++seed) {
    const TestWindow window = make_test_window(5, 0.05, 1, seed);
    const Rigid3& truth = window.truth.back();
    const PoseEstimate got = refine_window(window.frames, 0.05, {});
    ASSERT_TRUE(got.found);
    ASSERT_TRUE(got.covariance_map);
    const Eigen::Vector3d error = got.cam_from_map.centre() - truth.centre();
    alone_squared += (window.frames.back().cam_from_map.centre() - truth.centre()).squaredNorm();
    window_squared += error.squaredNorm();
    const Eigen::Matrix3d spread = got.covariance_map->topLeftCorner<3, 3>();
    held += error.dot(spread.inverse() * error) < 7.815;  // 95 % of 3 degrees of freedom
  }
  EXPECT_LT(window_squared, 1.05 * alone_squared);
  EXPECT_GE(held, 33);
}

TEST(RefineWindow, IgnoresBrokenOlderFrames) {
  TestWindow window = make_test_window(4, 0, 0.5, 6);
  window.frames[0].cam_from_map.translation.x() = std::nan("");
  window.frames[1].pairs.resize(2);
  for (PointPair& pair : window.frames[2].pairs) pair.point.y() = std::nan("");
  const PoseEstimate got = refine_window(window.frames, 0.05, {});
  ASSERT_TRUE(got.found);
  EXPECT_THAT(got.cam_from_map, PoseNear(window.truth.back(), 0.3, 0.3));
}

TEST(RefineWindow, HasNoPoseWithoutANewestFrame) {
  EXPECT_FALSE(refine_window({}, 0.05, {}).found);
  TestWindow window = make_test_window(3, 0, 0.5, 7);
  window.frames.back().pairs.resize(3);
  const PoseEstimate got = refine_window(window.frames, 0.05, {});
  EXPECT_FALSE(got.found);
  EXPECT_EQ(got.inlier.size(), 3u);
}

TEST(RefineWindow, RefusesAMeaninglessPrior) {
  for (const double sigma : {0.0, -1.0, std::nan("")}) {
    try {
      refine_window({}, sigma, {});
      FAIL() << "took " << sigma;
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::bad_option);
    }
  }
}

}  // namespace
}  // namespace skyfix
