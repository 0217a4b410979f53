#include "skyfix/stream/window_alignment.h"

#include <gmock/gmock.h>

#include <Eigen/Geometry>
#include <limits>

#include "skyfix/stream/gct_pose.h"
#include "skyfix/stream/goldens_testing.h"

namespace skyfix {
namespace {

class DepthRatio : public testing::StreamGoldens {};

TEST_F(DepthRatio, IsTheLowerMedianOfWhatIsValid) {
  if (!open("units")) return;
  StreamPrediction a, b;
  a.depth = values("ratio.anchor");
  b.depth = values("ratio.target");
  const StreamPrediction* before[] = {&a};
  const StreamPrediction* now[] = {&b};
  const std::vector<float> found{static_cast<float>(depth_ratio(before, now, nullptr))};
  expect_close(found, values("ratio.scale"), 1e-5, "scale");
}

TEST(DepthRatioRules, NothingValidIsOneAndWildRatiosAreHeldIn) {
  const auto ratio = [](std::vector<float> before, std::vector<float> now) {
    StreamPrediction a, b;
    a.depth = std::move(before);
    b.depth = std::move(now);
    const StreamPrediction* pa[] = {&a};
    const StreamPrediction* pb[] = {&b};
    std::int64_t samples = -1;
    const double value = depth_ratio(pa, pb, &samples);
    return std::pair(value, samples);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ratio({1, nan}, {0, 1}), std::pair(1.0, std::int64_t{0}));
  EXPECT_EQ(ratio({1, 2, 3, 4}, {1, 1, 1, 1}), std::pair(2.0, std::int64_t{4}));
  EXPECT_EQ(ratio({1e6F}, {1}).first, 1e3);
  EXPECT_EQ(ratio({1e-6F}, {1}).first, 1e-3);
}

// A stretch of a path, as predicted in the first window's frame, and the same moved and scaled.
std::vector<StreamPrediction> path(int frames) {
  std::vector<StreamPrediction> all(frames);
  for (int i = 0; i < frames; ++i) {
    const Eigen::Quaterniond turned(
        Eigen::AngleAxisd(0.1 * i, Eigen::Vector3d(1, 2, 3).normalized()));
    all[i].pose = {0.5 * i, 1.0, -0.2 * i, turned.x(), turned.y(), turned.z(), turned.w(), 1, 1};
    all[i].role = FrameRole::keyframe;
    all[i].position = i;
    all[i].width = 4;
    all[i].height = 2;
    for (int p = 0; p < 8; ++p) all[i].depth.push_back(1.0F + 0.1F * static_cast<float>(i + p));
  }
  return all;
}

WindowTransform some_transform() {
  return {2.5,
          Eigen::AngleAxisd(0.7, Eigen::Vector3d(3, -1, 1).normalized()).toRotationMatrix(),
          {4, -5, 6}};
}

// now = inverse(transform) of before.
StreamPrediction undone(const WindowTransform& by, StreamPrediction prediction) {
  const WindowTransform inverse{1 / by.scale, by.rotation.transpose(),
                                -(by.rotation.transpose() * by.translation) / by.scale};
  apply(inverse, prediction);
  return prediction;
}

TEST(AlignWindow, FindsTheSimilarityBetweenTwoWindows) {
  const auto before = path(5);
  std::vector<StreamPrediction> now;
  for (const auto& each : before) now.push_back(undone(some_transform(), each));
  WindowTransform found;
  const WindowAlignment alignment = align_window(before, now, found);
  EXPECT_NEAR(found.scale, 2.5, 1e-6);
  EXPECT_TRUE(found.rotation.isApprox(some_transform().rotation, 1e-9));
  EXPECT_TRUE(found.translation.isApprox(some_transform().translation, 1e-5));
  EXPECT_EQ(alignment.anchor_frame, 4);
  EXPECT_EQ(alignment.depth_samples, 40);
  EXPECT_NEAR(alignment.centre_residual.value(), 0, 1e-5);
  EXPECT_NEAR(alignment.depth_residual.value(), 0, 1e-6);
}

TEST(AlignWindow, AnchorsOnTheLastFrameThatBothRemember) {
  auto before = path(5), now = path(5);
  now[4].role = FrameRole::non_keyframe;
  before[3].role = FrameRole::non_keyframe;
  WindowTransform found;
  EXPECT_EQ(align_window(before, now, found).anchor_frame, 2);
  for (auto& each : now) each.role = FrameRole::non_keyframe;
  const WindowAlignment first = align_window(before, now, found);
  EXPECT_EQ(first.anchor_frame, 0);
  EXPECT_EQ(first.depth_samples, 8) << "from that frame alone";
}

TEST(AlignWindow, WithoutSharedFramesNothingMoves) {
  WindowTransform found;
  const WindowAlignment alignment = align_window({}, {}, found);
  EXPECT_EQ(found.scale, 1);
  EXPECT_TRUE(found.rotation.isIdentity());
  EXPECT_FALSE(alignment.centre_residual.has_value());
}

TEST(AlignWindow, AResidualTellsWhatDoesNotFit) {
  const auto before = path(5);
  auto now = before;
  now[1].pose[0] += 3;
  for (float& depth : now[2].depth) depth *= 2;
  WindowTransform found;
  const WindowAlignment alignment = align_window(before, now, found);
  EXPECT_NEAR(alignment.centre_residual.value(), 3 / std::sqrt(5.0), 1e-6);
}

TEST(Apply, MovesPointsAndDepthAlong) {
  StreamPrediction prediction = path(1)[0];
  prediction.points = {1, 2, 3};
  const WindowTransform by = some_transform();
  const Eigen::Vector3d wanted =
      by.scale * (by.rotation * Eigen::Vector3d(1, 2, 3)) + by.translation;
  apply(by, prediction);
  EXPECT_NEAR(prediction.points[2], wanted.z(), 1e-5);
  EXPECT_NEAR(prediction.depth[0], 2.5, 1e-6);
  EXPECT_GE(prediction.pose[6], 0);
}

}  // namespace
}  // namespace skyfix
