#include "skyfix/report/cloud.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "skyfix/report/stream_testing.h"

namespace skyfix {
namespace {

using report_testing::sample_stream_frame;

bool same(const CloudPoint& a, const CloudPoint& b) {
  return a.xyz == b.xyz && a.rgb == b.rgb && a.confidence == b.confidence && a.frame == b.frame;
}

TEST(Cloud, UnprojectsIntegerPixels) {
  const Camera camera{CameraModel::pinhole, 28, 14, {20, 10, 14, 7}};
  EXPECT_EQ(unproject_network_pixel(camera, 14, 7, 3), Eigen::Vector3d(0, 0, 3));
  EXPECT_EQ(unproject_network_pixel(camera, 0, 0, 2), Eigen::Vector3d(-1.4, -1.4, 2));
}

// The same by homogeneous matrices, pixel by pixel.
std::vector<CloudPoint> brute_points(const StreamFrame& frame, const CloudOptions& options,
                                     const Eigen::Vector3d& offset) {
  Eigen::Matrix4d cam_from_world = Eigen::Matrix4d::Identity();
  cam_from_world.topLeftCorner<3, 3>() = frame.view.cam_from_world.rotation.toRotationMatrix();
  cam_from_world.topRightCorner<3, 1>() = frame.view.cam_from_world.translation;
  const Eigen::Matrix4d world_from_cam = cam_from_world.inverse();
  const auto& k = frame.view.network_camera.params;
  std::vector<CloudPoint> all;
  std::int64_t passed = 0;
  for (int i = 0; i < frame.prediction.width * frame.prediction.height; ++i) {
    const int u = i % frame.prediction.width;
    const int v = i / frame.prediction.width;
    const double d = frame.prediction.depth[i];
    if (!(frame.prediction.confidence[i] > options.confidence_threshold)) continue;
    if (!(d > 1e-8) || d > 1e30) continue;
    if (!frame.sky.empty() && frame.sky[i]) continue;
    if (passed++ % options.every != 0) continue;
    const Eigen::Vector4d x =
        world_from_cam * Eigen::Vector4d((u - k[2]) * d / k[0], (v - k[3]) * d / k[1], d, 1);
    CloudPoint point;
    point.xyz = (x.head<3>() - offset).cast<float>();
    for (int c = 0; c < 3; ++c) point.rgb[c] = frame.picture.pixels[i * 3 + c];
    point.confidence = frame.prediction.confidence[i];
    point.frame = static_cast<std::uint32_t>(frame.index);
    all.push_back(point);
  }
  return all;
}

TEST(Cloud, PointsOfAFrameAreThoseOfTheSlowTwin) {
  for (const std::int64_t every : {1, 2, 7}) {
    for (const bool with_sky : {true, false}) {
      CloudOptions options;
      options.every = every;
      const StreamFrame frame = sample_stream_frame(3, {56, 28, true, with_sky});
      const FramePoints fast = frame_points(frame, options, {1, -2, 3});
      const std::vector<CloudPoint> slow = brute_points(frame, options, {1, -2, 3});
      ASSERT_EQ(fast.points.size(), slow.size());
      EXPECT_GT(slow.size(), 100u);
      for (std::size_t i = 0; i < slow.size(); ++i) {
        EXPECT_LT((fast.points[i].xyz - slow[i].xyz).norm(), 1e-6);
        EXPECT_EQ(fast.points[i].rgb, slow[i].rgb);
        EXPECT_EQ(fast.points[i].confidence, slow[i].confidence);
      }
    }
  }
}

TEST(Cloud, TheThresholdIsExclusiveAndTheMedianIsOfAllThatPass) {
  StreamFrame frame = sample_stream_frame(1, {14, 14, true, false});
  std::fill(frame.prediction.confidence.begin(), frame.prediction.confidence.end(), 1.5f);
  EXPECT_TRUE(frame_points(frame, {}, {0, 0, 0}).points.empty());
  EXPECT_FALSE(frame_points(frame, {}, {0, 0, 0}).median_depth);
  for (int i = 0; i < 4; ++i) {
    frame.prediction.confidence[i] = std::nextafter(1.5f, 2.0f);
    frame.prediction.depth[i] = static_cast<float>(10 - i);
  }
  const FramePoints points = frame_points(frame, {}, {0, 0, 0});
  EXPECT_EQ(points.points.size(), 4u);
  EXPECT_EQ(points.median_depth, 8.0);  // of 7 8 9 10 the lower middle
}

TEST(Cloud, PaddingGivesNoPoints) {
  StreamFrame frame = sample_stream_frame(1, {28, 28, true, false});
  // The picture fills the middle half of the rows.
  frame.map = {56, 28, 28, 28, 0.5, 0.5, 0, -7};
  const std::size_t whole = frame_points(frame, {}, {0, 0, 0}).points.size();
  for (int v = 0; v < 28; ++v) {
    for (int u = 0; u < 28; ++u) {
      if (v < 7 || v >= 21) frame.prediction.confidence[v * 28 + u] = 0;
    }
  }
  EXPECT_EQ(frame_points(frame, {}, {0, 0, 0}).points.size(), whole);
  EXPECT_GT(whole, 0u);
}

TEST(Cloud, VoxelSetIsASet) {
  std::mt19937 random(5);
  std::uniform_int_distribution<std::int32_t> index(-40, 40);
  VoxelSet fast;
  std::set<std::array<std::int32_t, 3>> slow;
  for (int i = 0; i < 200'000; ++i) {
    const std::array<std::int32_t, 3> voxel{index(random), index(random), index(random)};
    ASSERT_EQ(fast.insert(voxel), slow.insert(voxel).second);
  }
  EXPECT_EQ(fast.size(), slow.size());
}

TEST(Cloud, VoxelsAreHalfOpenAndBounded) {
  EXPECT_EQ(voxel_of({-0.1f, 0.0f, 0.5f}, 0.5), (std::array<std::int32_t, 3>{-1, 0, 1}));
  EXPECT_FALSE(voxel_of({1e9f, 0, 0}, 1e-3));
  EXPECT_FALSE(voxel_of({-1e9f, 0, 0}, 1e-3));
  EXPECT_FALSE(voxel_of({std::nanf(""), 0, 0}, 1));
}

TEST(Cloud, AnAutomaticVoxelIsOfTheFirstFrameWithPoints) {
  CloudThinning thinning({});
  EXPECT_TRUE(thinning.take({}).empty());
  EXPECT_EQ(thinning.voxel(), 0);
  const FramePoints first = frame_points(sample_stream_frame(1), {}, {0, 0, 0});
  thinning.take(first);
  EXPECT_EQ(thinning.voxel(), 0.005 * *first.median_depth);
  thinning.take(frame_points(sample_stream_frame(2), {}, {0, 0, 0}));
  EXPECT_EQ(thinning.voxel(), 0.005 * *first.median_depth);
}

TEST(Cloud, KeepsTheFirstPointOfEveryVoxel) {
  CloudOptions options;
  options.voxel = 0.11;
  CloudThinning thinning(options);
  std::vector<CloudPoint> kept;
  std::vector<CloudPoint> all;
  for (std::int64_t index = 1; index <= 6; ++index) {
    const FramePoints points = frame_points(sample_stream_frame(index), options, {0, 0, 0});
    all.insert(all.end(), points.points.begin(), points.points.end());
    const auto now = thinning.take(points);
    kept.insert(kept.end(), now.begin(), now.end());
  }
  // Every pair of points is compared.
  std::vector<CloudPoint> slow;
  for (const CloudPoint& point : all) {
    const auto taken = [&](const CloudPoint& other) {
      for (int axis = 0; axis < 3; ++axis) {
        if (std::floor(point.xyz[axis] / thinning.voxel()) !=
            std::floor(other.xyz[axis] / thinning.voxel())) {
          return false;
        }
      }
      return true;
    };
    if (std::none_of(slow.begin(), slow.end(), taken)) slow.push_back(point);
  }
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), slow.begin(), slow.end(), same));
  EXPECT_LT(kept.size(), all.size());
}

TEST(Cloud, OptionsAreChecked) {
  for (const auto& change : std::vector<std::function<void(CloudOptions&)>>{
           [](CloudOptions& o) { o.every = 0; }, [](CloudOptions& o) { o.voxel = -1; },
           [](CloudOptions& o) { o.max_points = 999; },
           [](CloudOptions& o) { o.confidence_threshold = std::nan(""); }}) {
    CloudOptions options;
    options.validate();
    change(options);
    EXPECT_EQ(report_testing::refusal_of([&] { options.validate(); }), Reason::bad_option);
  }
}

}  // namespace
}  // namespace skyfix
