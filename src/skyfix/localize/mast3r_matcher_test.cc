#include "skyfix/localize/mast3r_matcher.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/localize/world_testing.h"
#include "skyfix/models/mast3r/testing.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

// Synthetic weights in a small size: what is found means nothing, where it is does.
std::shared_ptr<const Mast3r> tiny() {
  static const auto network = [] {
    return std::make_shared<Mast3r>(make_synthetic_source(), mast3r::tiny_config(),
                                    Mast3rOptions{});
  }();
  return network;
}

class Mast3rMatcherTest : public ::testing::Test {
 protected:
  Mast3rMatcherTest() {
    const InputPhoto photo = SmallWorld::instance().queries().photos.front();
    picture_ = decode_image(photo.path, {.grey = false});
    truth_ = SmallWorld::instance().truth(photo.name);
  }
  static const Map& map() { return SmallWorld::instance().map(); }
  std::unique_ptr<MapMatcher> matcher(Mast3rMatcherOptions options = {}) const {
    options.long_side_px = 128;
    options.min_confidence = 0;
    options.search_cosine = -1;
    return make_mast3r_matcher(map(), SmallWorld::instance().map_photos(), tiny(), cpu(), options);
  }
  static std::vector<MapPair> match(MapMatcher& matcher, const Image& picture, int max_pairs = 0) {
    const auto query = matcher.read(picture);
    return matcher.match(*query, kCandidates, max_pairs).pairs;
  }

  static const std::vector<TurnedCandidate> kCandidates;
  Image picture_;
  Rigid3 truth_;
};
const std::vector<TurnedCandidate> Mast3rMatcherTest::kCandidates = {{2, 0}, {5, 1}, {6, 0}};

TEST_F(Mast3rMatcherTest, SaysWhatItIs) {
  const auto made = matcher({.max_candidates = 3});
  EXPECT_EQ(made->kind(), "mast3r");
  EXPECT_TRUE(made->wants_colour());
  EXPECT_TRUE(made->needs_turn());
  EXPECT_EQ(made->max_candidates(), 3);
}

TEST_F(Mast3rMatcherTest, PairsAreOfThePhotoAndOfTheCandidatesPoints) {
  const auto made = matcher();
  const std::vector<MapPair> pairs = match(*made, picture_);
  ASSERT_GT(pairs.size(), 10u);
  std::set<std::uint32_t> points, features;
  for (const MapPair& pair : pairs) {
    EXPECT_TRUE(points.insert(pair.point).second);
    EXPECT_TRUE(features.insert(pair.feature).second);
    EXPECT_TRUE(pair.x > 0 && pair.x < float(picture_.width)) << pair.x;
    EXPECT_TRUE(pair.y > 0 && pair.y < float(picture_.height)) << pair.y;
    EXPECT_TRUE(pair.image == 2 || pair.image == 5 || pair.image == 6);
    const auto first = map().observation_point().begin();
    const auto begin = first + std::ptrdiff_t(map().observation_offset()[pair.image]);
    const auto end = first + std::ptrdiff_t(map().observation_offset()[pair.image + 1]);
    EXPECT_NE(std::find(begin, end, pair.point), end) << "the candidate does not see it";
  }
  EXPECT_EQ(match(*made, picture_, 5).size(), 5u);
}

// Kept encoder features, and how many pairs are decoded at once, change nothing.
TEST_F(Mast3rMatcherTest, CachesAndBatchesChangeNothing) {
  const auto kept = matcher();
  const std::vector<MapPair> first = match(*kept, picture_);
  for (const auto& pairs :
       {match(*kept, picture_), match(*matcher({.batch = 1, .cached_features = 0}), picture_),
        match(*matcher({.cache_bytes = 1}), picture_)}) {
    ASSERT_EQ(pairs.size(), first.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(pairs[i].point, first[i].point);
      EXPECT_EQ(pairs[i].x, first[i].x);
      EXPECT_NEAR(pairs[i].score, first[i].score, 1e-5);
    }
  }
}

TEST_F(Mast3rMatcherTest, SearchStaysNearProjectionsAndNeedsAMatchFirst) {
  const auto made = matcher();
  const auto query = made->read(picture_);
  const Camera& camera = map().cameras().front().camera;
  EXPECT_EQ(made->search(*query, kCandidates, camera, truth_, 12).expected, 0);
  made->match(*query, kCandidates, 0);
  const GuidedMatches found = made->search(*query, kCandidates, camera, truth_, 12);
  EXPECT_GT(found.expected, 100);
  EXPECT_GT(found.pairs.size(), 10u);
  for (const MapPair& pair : found.pairs) {
    const auto pixel = camera.project(truth_ * map().point(pair.point));
    ASSERT_TRUE(pixel.has_value());
    // Within the radius and a network pixel, in either direction.
    const Eigen::Vector2d off(*pixel - Eigen::Vector2d(pair.x, pair.y));
    EXPECT_LT(off.cwiseAbs().maxCoeff(), 12 + 2 * 480.0 / 128);
  }
}

TEST_F(Mast3rMatcherTest, RoughMatchesAreCounted) {
  const auto made = matcher();
  const auto query = made->read(picture_);
  EXPECT_GT(made->rough_matches(*query, kCandidates[0]), 0);
}

TEST_F(Mast3rMatcherTest, AMapPhotoThatIsGoneIsNamed) {
  const auto made = make_mast3r_matcher(map(), "/nowhere", tiny(), cpu());
  const auto query = made->read(picture_);
  try {
    made->match(*query, kCandidates, 0);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::unreadable_file);
  }
}

}  // namespace
}  // namespace skyfix
