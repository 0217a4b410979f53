#include "skyfix/localize/feature_matcher.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/localize/world_testing.h"

namespace skyfix {
namespace {

class FeatureMatcherTest : public ::testing::Test {
 protected:
  FeatureMatcherTest() {
    const InputPhoto photo = SmallWorld::instance().queries().photos.front();
    picture_ = decode_image(photo.path);
    truth_ = SmallWorld::instance().truth(photo.name);
    matcher_ = make_feature_matcher(map(), make_local_features("sift"), cpu(), 0.75);
    for (std::uint32_t image = 0; image < map().image_count(); ++image) {
      all_.push_back({image, 0});
    }
  }
  static const Map& map() { return SmallWorld::instance().map(); }
  double share_near(const std::vector<MapPair>& pairs, double near_px) const {
    const Camera& camera = map().cameras().front().camera;
    int near = 0;
    for (const MapPair& pair : pairs) {
      const auto pixel = camera.project(truth_ * map().point(pair.point));
      near += pixel && (*pixel - Eigen::Vector2d(pair.x, pair.y)).norm() < near_px ? 1 : 0;
    }
    return double(near) / double(std::max<std::size_t>(1, pairs.size()));
  }

  Image picture_;
  Rigid3 truth_;
  std::unique_ptr<MapMatcher> matcher_;
  std::vector<TurnedCandidate> all_;
};

TEST_F(FeatureMatcherTest, StandsAnyTurnAndAnyNumberOfCandidates) {
  EXPECT_EQ(matcher_->kind(), "sift");
  EXPECT_FALSE(matcher_->needs_turn());
  EXPECT_FALSE(matcher_->wants_colour());
  EXPECT_GT(matcher_->max_candidates(), 1000);
}

TEST_F(FeatureMatcherTest, MatchesAndSearches) {
  const auto query = matcher_->read(picture_);
  const std::vector<MapPair> pairs = matcher_->match(*query, all_, 0).pairs;
  EXPECT_GT(pairs.size(), 100u);
  EXPECT_GT(share_near(pairs, 4), 0.4);
  EXPECT_EQ(matcher_->match(*query, all_, 20).pairs.size(), 20u);
  const Camera& camera = map().cameras().front().camera;
  const GuidedMatches guided = matcher_->search(*query, all_, camera, truth_, 4);
  EXPECT_GT(guided.pairs.size(), 100u);
  EXPECT_GT(share_near(guided.pairs, 4.01), 0.999);
}

// The pool kept for the search belongs to the candidates it was made for.
TEST_F(FeatureMatcherTest, SearchesTheCandidatesOfEachCall) {
  const auto query = matcher_->read(picture_);
  const Camera& camera = map().cameras().front().camera;
  const GuidedMatches all = matcher_->search(*query, all_, camera, truth_, 4);
  const std::span<const TurnedCandidate> one(all_.data(), 1);
  const GuidedMatches few = matcher_->search(*query, one, camera, truth_, 4);
  EXPECT_LT(few.expected, all.expected);
  for (const MapPair& pair : few.pairs) EXPECT_EQ(pair.image, 0u);
  EXPECT_EQ(matcher_->search(*query, all_, camera, truth_, 4).pairs.size(), all.pairs.size());
}

TEST_F(FeatureMatcherTest, RoughMatchesCountThoseOfOneMapPhoto) {
  const auto query = matcher_->read(picture_);
  int most = 0;
  for (const TurnedCandidate& candidate : all_) {
    const int matches = matcher_->rough_matches(*query, candidate);
    EXPECT_EQ(matches, int(matcher_->match(*query, {&candidate, 1}, 0).pairs.size()));
    most = std::max(most, matches);
  }
  EXPECT_GT(most, 50);
}

TEST_F(FeatureMatcherTest, AFlatPictureHasNoFeatures) {
  const Image flat{480, 320, 1, std::vector<std::uint8_t>(480 * 320, 90)};
  try {
    matcher_->read(flat);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::no_features);
  }
}

}  // namespace
}  // namespace skyfix
