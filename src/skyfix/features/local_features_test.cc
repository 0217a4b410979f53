#include "skyfix/features/local_features.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/features/testing.h"

namespace skyfix {
namespace {

TEST(LocalFeatures, NamesItsKindsAndTheNearestOne) {
  EXPECT_THAT(local_feature_kinds(), ::testing::Contains("sift"));
  EXPECT_EQ(make_local_features("sift")->kind(), "sift");
  try {
    make_local_features("sitf");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("did you mean sift"));
  }
  EXPECT_THROW(make_local_features("sift", {.max_long_side_px = -1}), Error);
}

TEST(LocalFeatures, SignatureTellsEveryOption) {
  const std::string plain = make_local_features("sift")->signature();
  EXPECT_NE(plain, make_local_features("sift", {.max_features = 5})->signature());
  EXPECT_NE(plain, make_local_features("sift", {.contrast_threshold = 0.3})->signature());
  EXPECT_NE(plain, make_local_features("sift", {.max_long_side_px = 99})->signature());
}

TEST(LocalFeatures, LargePicturesAreShrunkAndKeypointsMappedBack) {
  const Image small = textured_image(320, 240, 3);
  const Image large = resize(small, 640, 480);
  const FeatureSet expected = make_local_features("sift")->extract(shrink_to(large, 320));
  const FeatureSet got = make_local_features("sift", {.max_long_side_px = 320})->extract(large);
  ASSERT_GT(expected.keypoints.size(), 50u);
  ASSERT_EQ(got.keypoints.size(), expected.keypoints.size());
  for (std::size_t i = 0; i < got.keypoints.size(); ++i) {
    EXPECT_FLOAT_EQ(got.keypoints[i].x, 2 * expected.keypoints[i].x);
    EXPECT_FLOAT_EQ(got.keypoints[i].y, 2 * expected.keypoints[i].y);
    EXPECT_FLOAT_EQ(got.keypoints[i].scale, 2 * expected.keypoints[i].scale);
  }
  EXPECT_EQ(got.descriptors, expected.descriptors);
}

}  // namespace
}  // namespace skyfix
