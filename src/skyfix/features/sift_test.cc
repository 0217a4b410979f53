#include "skyfix/features/sift.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>
#include <thread>
#include <unordered_map>

#include "skyfix/base/error.h"
#include "skyfix/base/parallel.h"
#include "skyfix/features/testing.h"

namespace skyfix {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool same_bytes(const FeatureSet& a, const FeatureSet& b) {
  const auto keypoint_equal = [](const Keypoint& p, const Keypoint& q) {
    return p.x == q.x && p.y == q.y && p.scale == q.scale && p.angle_rad == q.angle_rad &&
           p.response == q.response;
  };
  return a.dimension == b.dimension && a.descriptors == b.descriptors &&
         std::equal(a.keypoints.begin(), a.keypoints.end(), b.keypoints.begin(), b.keypoints.end(),
                    keypoint_equal);
}

// Where a pixel of the image lies in the image turned clockwise by `quarters`, and back.
Eigen::Vector2d pixel_before_turn(const Eigen::Vector2d& turned, int width, int height,
                                  int quarters) {
  switch (quarters) {
    case 1:
      return {turned.y(), height - turned.x()};
    case 2:
      return {width - turned.x(), height - turned.y()};
    case 3:
      return {width - turned.y(), turned.x()};
    default:
      return turned;
  }
}

struct Offsets {
  Eigen::Vector2d mean_px = Eigen::Vector2d::Zero();
  int pairs = 0;
};

// Mean of (mapped back - original) over features that are clearly the same.
Offsets offsets_after_turn(const Image& image, int quarters, double min_scale, double max_scale) {
  FeatureOptions options;
  options.max_features = 0;
  const auto sift = make_sift(options);
  const FeatureSet straight = sift->extract(image);
  const FeatureSet turned = sift->extract(turn(image, quarters));
  Offsets offsets;
  for (const Keypoint& t : turned.keypoints) {
    if (t.scale < min_scale || t.scale > max_scale) continue;
    const Eigen::Vector2d back = pixel_before_turn({t.x, t.y}, image.width, image.height, quarters);
    const Keypoint* nearest = nullptr;
    double nearest_px = 1.0;
    for (const Keypoint& s : straight.keypoints) {
      const double distance = (back - Eigen::Vector2d(s.x, s.y)).norm();
      if (distance < nearest_px && std::abs(std::log2(s.scale / t.scale)) < 0.1) {
        nearest = &s;
        nearest_px = distance;
      }
    }
    if (nearest == nullptr) continue;
    offsets.mean_px += back - Eigen::Vector2d(nearest->x, nearest->y);
    ++offsets.pairs;
  }
  offsets.mean_px /= std::max(1, offsets.pairs);
  return offsets;
}

class SiftTurned : public ::testing::TestWithParam<std::pair<int, int>> {};

// No systematic shift, whatever the scale and the parity of the sides.
TEST_P(SiftTurned, KeypointsMapBackOntoThemselves) {
  const auto [width, height] = GetParam();
  const Image image = textured_image(width, height, 7);
  for (const int quarters : {1, 2, 3}) {
    const Offsets fine = offsets_after_turn(image, quarters, 0, 2);
    EXPECT_GT(fine.pairs, 300) << quarters << " quarter turns";
    EXPECT_LT(fine.mean_px.norm(), 0.02)
        << fine.mean_px.transpose() << " px after " << quarters << " quarter turns";
    const Offsets coarse = offsets_after_turn(image, quarters, 3, 12);
    EXPECT_GT(coarse.pairs, 50) << quarters << " quarter turns";
    EXPECT_LT(coarse.mean_px.norm(), 0.06)
        << coarse.mean_px.transpose() << " px of large features after " << quarters << " turns";
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SiftTurned,
                         ::testing::Values(std::pair(400, 304), std::pair(403, 301),
                                           std::pair(366, 302)));

TEST(Sift, FindsASpotWhereItIs) {
  const double x = 60.30, y = 52.85, sigma = 3;
  std::vector<float> grey(128 * 112, 100.0f);
  add_blob(grey, 128, 112, x, y, sigma, 100);
  const FeatureSet features = make_sift({})->extract(grey_image(grey, 128, 112));
  ASSERT_FALSE(features.keypoints.empty());
  const Keypoint& spot = features.keypoints.front();
  EXPECT_NEAR(spot.x, x, 0.05);
  EXPECT_NEAR(spot.y, y, 0.05);
  EXPECT_NEAR(spot.scale, sigma, 0.25 * sigma);
}

// Angles turn with the picture, from x towards y.
TEST(Sift, AnglesTurnWithTheImage) {
  const Image image = textured_image(320, 256, 3);
  const auto sift = make_sift({});
  const FeatureSet straight = sift->extract(image), turned = sift->extract(turn(image, 1));
  int right = 0, paired = 0;
  for (const Keypoint& t : turned.keypoints) {
    const Eigen::Vector2d back = pixel_before_turn({t.x, t.y}, image.width, image.height, 1);
    double least = 10;  // one place may have several angles
    for (const Keypoint& s : straight.keypoints) {
      if ((back - Eigen::Vector2d(s.x, s.y)).norm() > 0.3) continue;
      if (std::abs(s.scale / t.scale - 1) > 0.05) continue;
      const double difference = t.angle_rad - s.angle_rad - std::numbers::pi / 2;
      least = std::min(least, std::abs(std::remainder(difference, 2 * std::numbers::pi)));
    }
    paired += least < 10;
    right += least < 0.1;
  }
  ASSERT_GT(paired, 200);
  EXPECT_GT(right, 0.9 * paired);
}

TEST(Sift, DescriptorsAreUnitRowsAndKeypointsSortedAndInside) {
  const Image image = textured_image(333, 257, 11);
  const FeatureSet features = make_sift({})->extract(image);
  ASSERT_GT(features.keypoints.size(), 200u);
  ASSERT_EQ(features.dimension, 128);
  ASSERT_THAT(features.descriptors, SizeIs(features.keypoints.size() * 128));
  EXPECT_THAT(features.descriptors, Each(::testing::Ge(0.0f)));
  for (std::size_t i = 0; i < features.keypoints.size(); ++i) {
    const Keypoint& k = features.keypoints[i];
    EXPECT_NEAR(Eigen::Map<const Eigen::VectorXf>(features.descriptor(i), 128).norm(), 1, 1e-5);
    EXPECT_TRUE(k.x > 0 && k.x < 333 && k.y > 0 && k.y < 257) << k.x << " " << k.y;
    if (i > 0) {
      EXPECT_GE(features.keypoints[i - 1].response, k.response);
    }
  }
}

TEST(Sift, KeepsSeveralOrientationsOfOnePlace) {
  const FeatureSet features = make_sift({})->extract(textured_image(300, 300, 2));
  std::unordered_map<float, int> at_x;
  int repeated = 0;
  for (const Keypoint& k : features.keypoints) repeated += ++at_x[k.x] == 2;
  EXPECT_GT(repeated, 5);
}

TEST(Sift, MaxFeaturesKeepsTheStrongestExactly) {
  const Image image = textured_image(347, 291, 4);
  FeatureOptions options;
  options.max_features = 0;
  const FeatureSet all = make_sift(options)->extract(image);
  for (const int wanted : {1, 50, 301}) {
    options.max_features = wanted;
    const FeatureSet some = make_sift(options)->extract(image);
    ASSERT_THAT(some.keypoints, SizeIs(wanted));
    FeatureSet expected = all;
    expected.keypoints.resize(wanted);
    expected.descriptors.resize(std::size_t(wanted) * 128);
    EXPECT_TRUE(same_bytes(some, expected)) << wanted;
  }
}

TEST(Sift, SameBytesWhateverTheThreads) {
  const Image image = textured_image(400, 300, 9);
  const std::size_t before = thread_count();
  set_thread_count(1);
  const FeatureSet one = make_sift({})->extract(image);
  set_thread_count(4);
  const auto sift = make_sift({});
  const FeatureSet four = sift->extract(image);
  EXPECT_TRUE(same_bytes(one, four));

  std::vector<FeatureSet> together(4);
  std::vector<std::jthread> threads;
  for (FeatureSet& result : together) {
    threads.emplace_back([&] { result = sift->extract(image); });
  }
  threads.clear();
  for (const FeatureSet& result : together) EXPECT_TRUE(same_bytes(one, result));
  set_thread_count(before);
}

TEST(Sift, LowerContrastGivesMore) {
  std::vector<float> grey(200 * 200, 100.0f);
  for (int i = 0; i < 25; ++i) {
    add_blob(grey, 200, 200, 30 + 35 * (i % 5), 30 + 35 * (i / 5), 3, 4.0 + i);
  }
  const Image image = grey_image(grey, 200, 200);
  FeatureOptions sensitive, blunt;
  sensitive.contrast_threshold = 0.01;
  blunt.contrast_threshold = 0.08;
  EXPECT_GT(make_sift(sensitive)->extract(image).keypoints.size(),
            make_sift(blunt)->extract(image).keypoints.size());
}

TEST(Sift, PicturesWithoutFeaturesGiveAnEmptySet) {
  for (const auto& [width, height] : {std::pair(0, 0), std::pair(1, 1), std::pair(7, 400),
                                      std::pair(16, 16), std::pair(17, 19), std::pair(256, 256)}) {
    const Image flat{width, height, 1, std::vector<std::uint8_t>(std::size_t(width) * height, 90)};
    const FeatureSet features = make_sift({})->extract(flat);
    EXPECT_THAT(features.keypoints, IsEmpty()) << width << "x" << height;
    EXPECT_THAT(features.descriptors, IsEmpty());
    EXPECT_EQ(features.dimension, 128);
  }
}

TEST(LocalFeatures, AreMadeByKind) {
  EXPECT_THAT(local_feature_kinds(), ::testing::Contains("sift"));
  for (const std::string& kind : local_feature_kinds()) {
    EXPECT_EQ(make_local_features(kind)->kind(), kind);
  }
  EXPECT_EQ(make_local_features("sift")->dimension(), 128);
}

TEST(LocalFeatures, SignatureTellsOptionsApart) {
  FeatureOptions more, softer;
  more.max_features = 8001;
  softer.contrast_threshold = 0.0201;
  const std::string usual = make_local_features("sift")->signature();
  EXPECT_EQ(usual, make_local_features("sift")->signature());
  EXPECT_NE(usual, make_local_features("sift", more)->signature());
  EXPECT_NE(usual, make_local_features("sift", softer)->signature());
}

void expect_bad_option(std::string_view kind, const FeatureOptions& options,
                       const std::string& part) {
  try {
    make_local_features(kind, options);
    ADD_FAILURE() << kind << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
  }
}

TEST(LocalFeatures, RefusesBadOptionsInWords) {
  expect_bad_option("shift", {}, "did you mean sift");
  expect_bad_option("", {}, "sift");
  FeatureOptions options;
  options.max_features = -1;
  expect_bad_option("sift", options, "negative");
  options = {};
  options.contrast_threshold = std::nan("");
  expect_bad_option("sift", options, "contrast");
}

}  // namespace
}  // namespace skyfix
