#include "skyfix/features/tie.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

namespace skyfix {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Pixels = std::vector<Eigen::Vector2d>;

FeatureSet features_at(const Pixels& pixels, const std::vector<float>& responses = {}) {
  FeatureSet features;
  features.dimension = 1;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const float response = responses.empty() ? 1.0f : responses[i];
    features.keypoints.push_back({float(pixels[i].x()), float(pixels[i].y()), 1, 0, response});
    features.descriptors.push_back(1);
  }
  return features;
}

MATCHER_P2(Ties, feature, observation, "") {
  return arg.feature == std::uint32_t(feature) && arg.observation == std::uint32_t(observation);
}

TEST(TieFeatures, GivesEachFeatureToItsNearestObservation) {
  const auto ties = tie_features(features_at({{10, 10}, {11.4, 10}, {50, 50}}),
                                 Pixels{{10.5, 10}, {12, 10}, {53, 50}});
  EXPECT_THAT(ties, ElementsAre(Ties(0, 0), Ties(1, 1)));
  EXPECT_FLOAT_EQ(ties[0].distance_px, 0.5f);
}

TEST(TieFeatures, RadiusIsInclusiveAndRound) {
  EXPECT_THAT(tie_features(features_at({{12, 10}}), Pixels{{10, 10}}), ElementsAre(Ties(0, 0)));
  EXPECT_THAT(tie_features(features_at({{12.01, 10}}), Pixels{{10, 10}}), IsEmpty());
  EXPECT_THAT(tie_features(features_at({{11.5, 11.5}}), Pixels{{10, 10}}), IsEmpty());
}

TEST(TieFeatures, AnObservationKeepsTheNearestThenStrongestThenFirst) {
  const FeatureSet features = features_at({{11, 10}, {9, 10}, {10, 11}, {10.5, 10}}, {1, 2, 2, 1});
  TieOptions options;
  options.max_per_observation = 3;
  EXPECT_THAT(tie_features(features, Pixels{{10, 10}}, options),
              ElementsAre(Ties(3, 0), Ties(1, 0), Ties(2, 0)));
  options.max_per_observation = 0;
  EXPECT_THAT(tie_features(features, Pixels{{10, 10}}, options), IsEmpty());
}

TEST(TieFeatures, EqualDistancesGoToTheFirstObservation) {
  EXPECT_THAT(tie_features(features_at({{10, 10}}), Pixels{{11, 10}, {9, 10}, {10, 9}}),
              ElementsAre(Ties(0, 0)));
}

TEST(TieFeatures, NothingToTieIsNoTie) {
  EXPECT_THAT(tie_features({}, Pixels{{1, 1}}), IsEmpty());
  EXPECT_THAT(tie_features(features_at({{1, 1}}), {}), IsEmpty());
}

TEST(TieFeatures, SkipsObservationsThatAreNotNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(tie_features(features_at({{10, 10}}), Pixels{{nan, 10}, {10, nan}, {10, 10}}),
              ElementsAre(Ties(0, 2)));
}

// The same as trying every pair.
TEST(TieFeatures, AgreesWithBruteForce) {
  std::mt19937_64 random(5);
  const auto pixels = [&](int count) {
    Pixels result;
    for (int i = 0; i < count; ++i) {
      result.emplace_back(double(random() % 4000) / 40, double(random() % 4000) / 40);
    }
    return result;
  };
  const Pixels feature_pixels = pixels(800), observations = pixels(500);
  TieOptions options;
  options.max_per_observation = 1000;
  std::vector<int> expected(feature_pixels.size(), -1), got(feature_pixels.size(), -1);
  for (std::size_t i = 0; i < feature_pixels.size(); ++i) {
    double best = options.radius_px;
    const Eigen::Vector2d pixel = feature_pixels[i].cast<float>().cast<double>();
    for (std::size_t k = 0; k < observations.size(); ++k) {
      const double distance = (observations[k] - pixel).norm();
      if (distance < best || (distance == best && expected[i] < 0)) {
        best = distance;
        expected[i] = int(k);
      }
    }
  }
  for (const Tie& tie : tie_features(features_at(feature_pixels), observations, options)) {
    got[tie.feature] = int(tie.observation);
  }
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace skyfix
