#include "skyfix/localize/network_matcher.h"

#include <gmock/gmock.h>

#include <set>

#include "skyfix/localize/patch_network_testing.h"
#include "skyfix/localize/turn.h"
#include "skyfix/map/map_extension.h"

namespace skyfix {
namespace {

using ::testing::HasSubstr;

constexpr double kNearPx = 4;

std::shared_ptr<const LocalNetwork> patches() { return std::make_shared<PatchNetwork>(); }

// The first query, its true camera, and the map photos nearest to it.
class NetworkMatcherTest : public ::testing::TestWithParam<int> {
 protected:
  NetworkMatcherTest() {
    const InputPhoto photo = SmallWorld::instance().queries().photos.front();
    picture_ = decode_image(photo.path, {.grey = false});
    truth_ = SmallWorld::instance().truth(photo.name);
    matcher_ = make_network_matcher(patch_map(), patches(), nullptr, cpu(), options());
  }
  static NetworkMatcherOptions options() {
    NetworkMatcherOptions options;
    options.min_cosine = 0.9;
    return options;
  }
  const Camera& camera() const { return patch_map().cameras().front().camera; }

  // All map photos, each turned as the truth asks for when the photo was turned by `quarters`.
  std::vector<TurnedCandidate> candidates(int quarters) const {
    std::vector<TurnedCandidate> turned;
    const Rigid3 camera_now = turned_camera(truth_, quarters);
    for (std::uint32_t image = 0; image < patch_map().image_count(); ++image) {
      turned.push_back(
          {image, quarters_of(turn_between_rad(camera_now, patch_map().cam_from_map(image)))});
    }
    return turned;
  }
  // Pairs whose point lies where the picture, turned by `quarters`, shows it.
  int right_pairs(const std::vector<MapPair>& pairs, int quarters) const {
    int right = 0;
    for (const MapPair& pair : pairs) {
      const auto pixel = camera().project(truth_ * patch_map().point(pair.point));
      if (!pixel) continue;
      const Eigen::Vector2f shown =
          after_turn(pixel->cast<float>(), quarters, picture_.width, picture_.height);
      right += (shown - Eigen::Vector2f(pair.x, pair.y)).norm() < kNearPx ? 1 : 0;
    }
    return right;
  }

  Image picture_;
  Rigid3 truth_;
  std::unique_ptr<MapMatcher> matcher_;
};

TEST_P(NetworkMatcherTest, DenseMatchingGivesPairsOfThePhotoAsStored) {
  const Image stored = turn(picture_, GetParam());
  const auto query = matcher_->read(stored);
  const std::vector<MapPair> pairs = matcher_->match(*query, candidates(GetParam()), 0).pairs;
  const int right = right_pairs(pairs, GetParam());
  EXPECT_GT(right, 40) << "of " << pairs.size();
  EXPECT_GT(right, int(pairs.size()) / 2);
  std::set<std::uint32_t> points, features;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_TRUE(points.insert(pairs[i].point).second) << "a point twice";
    EXPECT_TRUE(features.insert(pairs[i].feature).second) << "a place twice";
    EXPECT_GE(pairs[i].score, 0.9f);
    if (i > 0) {
      EXPECT_LE(pairs[i].score, pairs[i - 1].score);
    }
  }
  EXPECT_EQ(matcher_->match(*query, candidates(GetParam()), 10).pairs.size(), 10u);
}

TEST_P(NetworkMatcherTest, RoughMatchesTellTheRightTurn) {
  const Image stored = turn(picture_, GetParam());
  NetworkMatcherOptions tolerant;
  tolerant.min_cosine = 0.75;
  const auto matcher = make_network_matcher(patch_map(), patches(), nullptr, cpu(), tolerant);
  const auto query = matcher->read(stored);
  int most[4] = {0, 0, 0, 0};
  for (const TurnedCandidate& right : candidates(GetParam())) {
    for (int more = 0; more < 4; ++more) {
      const int matches = matcher->rough_matches(*query, {right.image, (right.turn + more) & 3});
      most[more] = std::max(most[more], matches);
    }
  }
  EXPECT_GT(most[0], 2 * std::max({most[1], most[2], most[3], 4}));
}

TEST_P(NetworkMatcherTest, SearchFindsPointsNearTheirProjections) {
  const Image stored = turn(picture_, GetParam());
  const auto query = matcher_->read(stored);
  const Camera turned = camera().turned(GetParam());
  const Rigid3 pose = turned_camera(truth_, GetParam());
  const GuidedMatches found = matcher_->search(*query, candidates(GetParam()), turned, pose, 6);
  EXPECT_GT(found.expected, 100);
  EXPECT_GT(found.pairs.size(), 60u);
  EXPECT_LE(found.pairs.size(), std::size_t(found.expected));
  const int right = right_pairs(found.pairs, GetParam());
  EXPECT_GT(right, int(found.pairs.size()) * 8 / 10);
  for (const MapPair& pair : found.pairs) {
    const auto pixel = turned.project(pose * patch_map().point(pair.point));
    ASSERT_TRUE(pixel.has_value());
    EXPECT_LT((pixel->cast<float>() - Eigen::Vector2f(pair.x, pair.y)).norm(), 6 * 1.5);
    EXPECT_GE(pair.score, 0.75f);
  }
}

INSTANTIATE_TEST_SUITE_P(Turns, NetworkMatcherTest, ::testing::Values(0, 1, 2, 3));

TEST(NetworkMatcher, SaysWhatItIs) {
  const auto dense = make_network_matcher(patch_map(), patches(), nullptr, cpu());
  EXPECT_EQ(dense->kind(), "patch-dense");
  EXPECT_TRUE(dense->wants_colour());
  EXPECT_TRUE(dense->needs_turn());
  EXPECT_GT(dense->max_candidates(), 1000);
}

Reason refusal(const Map& map, std::shared_ptr<const LocalNetwork> network,
               const NetworkMatcherOptions& options, const std::string& text) {
  try {
    make_network_matcher(map, std::move(network), nullptr, cpu(), options);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(text));
    return error.reason();
  }
  ADD_FAILURE() << "no error";
  return Reason::internal;
}

TEST(NetworkMatcher, RefusesAMapWithoutOrWithOtherDescriptors) {
  EXPECT_EQ(refusal(SmallWorld::instance().map(), patches(), {}, "patch"), Reason::missing_in_map);
  EXPECT_EQ(refusal(patch_map(), std::make_shared<PatchNetwork>("others"), {}, "other weights"),
            Reason::bad_weights);
  EXPECT_EQ(refusal(patch_map(), patches(), {.max_features = -1}, "--max-features"),
            Reason::bad_option);
  EXPECT_EQ(refusal(patch_map(), patches(), {.long_side_px = 63}, "--image-size"),
            Reason::bad_option);
}

TEST(NetworkMatcher, AFlatOrNarrowPictureGivesNoPairsOrIsRefused) {
  const auto matcher = make_network_matcher(patch_map(), patches(), nullptr, cpu());
  const Image flat{480, 320, 3, std::vector<std::uint8_t>(480 * 320 * 3, 128)};
  const auto query = matcher->read(flat);
  const std::vector<TurnedCandidate> all = {{0, 0}, {1, 2}};
  EXPECT_EQ(matcher->rough_matches(*query, all[0]), 0);
  EXPECT_TRUE(matcher->match(*query, all, 0).pairs.empty());
  const Image sliver{480, 20, 3, std::vector<std::uint8_t>(480 * 20 * 3, 128)};
  const auto narrow = matcher->read(sliver);
  EXPECT_THROW(matcher->match(*narrow, all, 0), Error);
}

TEST(DescribeObservations, ShrinksThePictureAndNotThePlaces) {
  const PatchNetwork network;
  const Image picture =
      decode_image(SmallWorld::instance().queries().photos.front().path, {.grey = false});
  const std::vector<float> xy = {100, 60, 240, 160};
  const Image half = resize(picture, picture.width / 2, picture.height / 2);
  const auto maps = network.maps({half.pixels.data(), half.width, half.height, 3});
  const std::vector<float> expected = network.describe(*maps, std::vector<float>{50, 30, 120, 80});
  const std::vector<float> rows = describe_observations(network, picture, xy, half.width);
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i], expected[i], 1e-5);
}

}  // namespace
}  // namespace skyfix
