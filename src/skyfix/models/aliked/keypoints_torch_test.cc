#include "skyfix/models/aliked/keypoints_torch.h"

#include <cmath>

#include "skyfix/models/parity_testing_torch.h"

namespace skyfix::aliked {
namespace {

class AlikedKeypoints : public models::ParityTest {
 protected:
  void SetUp() override { open_goldens("aliked_lightglue"); }

  void expect_parity(const std::string& map, const std::string& name,
                     const Selection& selection) const {
    const Keypoints found = find_keypoints(golden(map + ".thr512.score_map"), selection);
    const models::KeypointSet wanted{golden(name + ".keypoints"), golden(name + ".scores"), {}};
    EXPECT_EQ(found.places.size(0), wanted.xy.size(0)) << name;
    const auto result = models::compare_sets(wanted, {found.places, found.scores, {}}, 0.05);
    EXPECT_EQ(result.matched, result.wanted) << name;
    EXPECT_LE(result.position_px, 4e-4) << name;
    EXPECT_LE(result.score, 5e-5) << name;
  }
};

TEST_F(AlikedKeypoints, EqualTheReferenceInEveryMode) {
  expect_parity("image0", "image0.thr512", {0.2, 512});
  expect_parity("image1", "image1.thr512", {0.2, 512});
  expect_parity("padded_450x301", "padded_450x301.thr512", {0.2, 512});
  expect_parity("image0", "image0.thr256_sorted", {0.2, 256});
  expect_parity("image0", "image0.thr04_raster", {0.4, 0});
  expect_parity("image0", "image0.top384", {0, 384});
}

TEST_F(AlikedKeypoints, ScoresFall) {
  const at::Tensor scores = find_keypoints(golden("image0.thr512.score_map"), {}).scores;
  EXPECT_TRUE(at::equal(scores, std::get<0>(at::sort(scores, 0, true))));
}

TEST(AlikedKeypointsOfMaps, AMaximumBesideAStrongerOneIsHidden) {
  at::Tensor map = at::zeros({20, 30});
  map[10][10] = 0.9F;
  map[10][12] = 0.4F;  // hidden
  map[10][14] = 0.3F;  // hidden by the one that is hidden: comes back
  map[1][20] = 0.9F;   // on the border
  const at::Tensor places = find_keypoints(map, {}).places;
  ASSERT_EQ(places.size(0), 2);
  EXPECT_NEAR(places[0][0].item<float>(), 10, 0.2);
  EXPECT_NEAR(places[0][1].item<float>(), 10, 1e-5);
  EXPECT_GT(places[1][0].item<float>(), 12);  // drawn towards the higher one
}

TEST(AlikedKeypointsOfMaps, EqualScoresKeepRasterOrder) {
  at::Tensor map = at::zeros({20, 40});
  for (const auto& [y, x] : {std::pair{15, 5}, {5, 30}, {5, 10}}) map[y][x] = 0.5F;
  const at::Tensor places = find_keypoints(map, {0.2, 2}).places;
  ASSERT_EQ(places.size(0), 2);
  EXPECT_EQ(places[0][0].item<float>(), 10);
  EXPECT_EQ(places[1][0].item<float>(), 30);
}

TEST(AlikedKeypointsOfMaps, FaintMapsAreReadAboveTheirMean) {
  at::Tensor map = at::full({20, 20}, 0.01F);
  map[9][9] = 0.1F;
  EXPECT_EQ(find_keypoints(map, {}).places.size(0), 1);
}

TEST(AlikedKeypointsOfMaps, FlatMapsHaveNone) {
  EXPECT_EQ(find_keypoints(at::full({20, 20}, 0.3F), {}).places.size(0), 0);
  EXPECT_EQ(find_keypoints(at::zeros({20, 20}), {}).places.size(0), 0);
}

}  // namespace
}  // namespace skyfix::aliked
