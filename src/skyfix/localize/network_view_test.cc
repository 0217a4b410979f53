#include "skyfix/localize/network_view.h"

#include <gmock/gmock.h>

#include "skyfix/features/testing.h"
#include "skyfix/geo/testing.h"
#include "skyfix/localize/patch_network_testing.h"

namespace skyfix {
namespace {

using Vector = Eigen::Vector2f;

constexpr int kWidth = 320;
constexpr int kHeight = 200;

class NetworkViewTest : public ::testing::TestWithParam<int> {
 protected:
  // Rows of the view's own map at places of the stored photo.
  std::vector<float> described(NetworkView& view, const FeatureSet& features) const {
    std::vector<float> xy;
    for (const Keypoint& keypoint : features.keypoints) {
      const Vector at = view.to_view({keypoint.x, keypoint.y});
      xy.insert(xy.end(), {at.x(), at.y()});
    }
    return network_.describe(view.maps(), xy);
  }

  PatchNetwork network_;
  Image picture_ = textured_image(kWidth, kHeight, 5);
};

void expect_rows_near(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
  ASSERT_EQ(a.size(), b.size());
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  EXPECT_LE(largest, tolerance);
}

TEST_P(NetworkViewTest, PlacesGoThereAndBack) {
  NetworkView view(picture_, network_, GetParam(), 160);
  const bool upright = GetParam() % 2 == 1;
  EXPECT_EQ(view.width(), upright ? 100 : 160);
  EXPECT_EQ(view.height(), upright ? 160 : 100);
  EXPECT_NEAR(view.view_px_per_stored_px(), 0.5, 1e-6);
  for (const Vector& place : {Vector(0, 0), Vector(320, 200), Vector(17.5f, 140.25f)}) {
    EXPECT_THAT(view.to_stored(view.to_view(place)), VectorNear(place, 1e-4));
  }
}

TEST_P(NetworkViewTest, KeypointsAreOfThePhotoAsStored) {
  NetworkView view(picture_, network_, GetParam(), 0);
  const FeatureSet& features = view.keypoints(60);
  ASSERT_EQ(features.keypoints.size(), 60u);
  ASSERT_EQ(view.keypoints_xy().size(), 120u);
  expect_rows_near(described(view, features), features.descriptors, 1e-3f);
  for (std::size_t i = 0; i < features.keypoints.size(); ++i) {
    const Keypoint& keypoint = features.keypoints[i];
    EXPECT_GT(keypoint.x, 0);
    EXPECT_LT(keypoint.x, kWidth);
    EXPECT_GT(keypoint.y, 0);
    EXPECT_LT(keypoint.y, kHeight);
    EXPECT_THAT(
        view.to_view({keypoint.x, keypoint.y}),
        VectorNear(Vector(view.keypoints_xy()[2 * i], view.keypoints_xy()[2 * i + 1]), 1e-3));
  }
}

TEST_P(NetworkViewTest, TheGridCoversThePhoto) {
  NetworkView view(picture_, network_, GetParam(), 0);
  const FeatureSet& grid = view.grid(4);
  EXPECT_EQ(grid.keypoints.size(), std::size_t(kWidth / 4) * (kHeight / 4));
  expect_rows_near(described(view, grid), grid.descriptors, 1e-3f);
  double sum_x = 0, sum_y = 0;
  for (const Keypoint& keypoint : grid.keypoints) {
    sum_x += keypoint.x;
    sum_y += keypoint.y;
  }
  EXPECT_NEAR(sum_x / double(grid.keypoints.size()), kWidth / 2.0, 1e-3);
  EXPECT_NEAR(sum_y / double(grid.keypoints.size()), kHeight / 2.0, 1e-3);
}

TEST_P(NetworkViewTest, TheMiddleIsTheMiddleQuarter) {
  picture_ = textured_image(2 * kWidth, 2 * kHeight, 6);
  NetworkView view(picture_, network_, GetParam(), 0);
  const FeatureSet& middle = view.middle(100);
  ASSERT_GT(middle.keypoints.size(), 50u);
  FeatureSet inside;  // clear of the crop's edge, which the whole picture does not have
  inside.dimension = middle.dimension;
  for (std::size_t i = 0; i < middle.keypoints.size(); ++i) {
    const Keypoint& keypoint = middle.keypoints[i];
    EXPECT_LE(std::abs(keypoint.x - kWidth), kWidth / 2.0f);
    EXPECT_LE(std::abs(keypoint.y - kHeight), kHeight / 2.0f);
    if (std::abs(keypoint.x - kWidth) > kWidth / 2.0f - 20) continue;
    if (std::abs(keypoint.y - kHeight) > kHeight / 2.0f - 20) continue;
    inside.keypoints.push_back(keypoint);
    inside.descriptors.insert(inside.descriptors.end(), middle.descriptor(i),
                              middle.descriptor(i) + middle.dimension);
  }
  ASSERT_GT(inside.keypoints.size(), 30u);
  expect_rows_near(described(view, inside), inside.descriptors, 1e-3f);
}

INSTANTIATE_TEST_SUITE_P(Turns, NetworkViewTest, ::testing::Values(0, 1, 2, 3));

TEST(NetworkViewSizes, ANarrowPictureIsItsOwnMiddle) {
  const PatchNetwork network;
  const Image picture = textured_image(400, 100, 7);
  NetworkView view(picture, network, 0, 0);
  float least = 400;
  for (const Keypoint& keypoint : view.middle(200).keypoints) least = std::min(least, keypoint.x);
  EXPECT_LT(least, 100);
}

TEST(NetworkViewSizes, ASliverIsRefusedWhenLookedAt) {
  const PatchNetwork network;
  const Image picture = textured_image(400, 20, 7);
  NetworkView view(picture, network, 0, 0);
  EXPECT_THROW(view.keypoints(10), Error);
}

}  // namespace
}  // namespace skyfix
