#include "skyfix/solve/pair_set.h"

#include <gmock/gmock.h>

#include <limits>

#include "skyfix/solve/sampler.h"
#include "skyfix/solve/scorer.h"
#include "skyfix/solve/test_scene.h"

namespace skyfix::solve {
namespace {

using ::testing::ElementsAre;

const Camera kCamera = survey_camera();
const Rigid3 kPose = pose_of({.tilt_deg = 10});

TEST(PairSet, LeavesOutWhatCannotBeUsed) {
  auto pairs = make_pairs(kCamera, kPose, {.count = 6});
  pairs[0].pixel.x() = std::numeric_limits<double>::quiet_NaN();
  pairs[1].point.z() = std::numeric_limits<double>::infinity();
  pairs[2].sigma_px = 0;
  pairs[3].sigma_px = std::numeric_limits<double>::quiet_NaN();
  pairs[4].quality = std::numeric_limits<double>::quiet_NaN();
  const PairSet usable = usable_pairs(pairs);
  EXPECT_THAT(usable.source, ElementsAre(4, 5));
  EXPECT_LT(usable.quality[0], usable.quality[1]);
}

TEST(PairSet, CountsAMapPointOnceByItsBetterPixel) {
  auto pairs = make_pairs(kCamera, kPose, {.count = 5});
  pairs.push_back(pairs[2]);  // the same map point two pixels off: still within the threshold
  pairs.back().pixel.x() += 2;
  const PairSet usable = usable_pairs(pairs);
  EXPECT_EQ(usable.group_count, 5u);
  EXPECT_EQ(usable.pixel_count, 6u);
  EXPECT_THAT(consensus(usable, kCamera, view_from_pose(kPose), 8).inliers,
              ElementsAre(0, 1, 2, 3, 4));
  pairs[2].pixel.x() += 4;
  EXPECT_THAT(consensus(usable_pairs(pairs), kCamera, view_from_pose(kPose), 8).inliers,
              ElementsAre(0, 1, 3, 4, 5));
}

TEST(PairSet, CountsAPixelOnceByItsBetterMapPoint) {
  auto pairs = make_pairs(kCamera, kPose, {.count = 5});
  pairs.push_back(pairs[1]);  // another map point, 3 cm (a pixel) beside
  pairs.back().group = 77;
  pairs.back().point.x() += 0.03;
  const PairSet usable = usable_pairs(pairs);
  EXPECT_EQ(usable.group_count, 6u);
  EXPECT_EQ(usable.pixel_count, 5u);
  EXPECT_THAT(consensus(usable, kCamera, view_from_pose(kPose), 8).inliers,
              ElementsAre(0, 1, 2, 3, 4));
}

TEST(PairSet, ASubsetIsNumberedAnew) {
  auto pairs = make_pairs(kCamera, kPose, {.count = 4});
  pairs[3].group = pairs[1].group;
  const std::vector<std::uint8_t> keep{0, 1, 0, 1};
  const PairSet some = pairs_where(usable_pairs(pairs), keep);
  EXPECT_THAT(some.source, ElementsAre(1, 3));
  EXPECT_EQ(some.group_count, 1u);
  EXPECT_EQ(some.pixel_count, 2u);
  EXPECT_FALSE(some.all_distinct());
}

TEST(Scorer, AgreesWithTheExactConsensus) {
  auto pairs =
      make_pairs(kCamera, kPose, {.count = 400, .relief = 5, .noise_px = 2, .outlier_share = 0.4});
  for (std::uint32_t i = 0; i < 100; ++i) {  // map points with a second pixel, worse by far
    pairs.push_back(pairs[100 + i]);
    pairs.back().pixel += Eigen::Vector2d(40, 40);
  }
  const PairSet usable = usable_pairs(pairs);
  std::vector<Eigen::Vector3d> rays;
  for (const auto& pixel : usable.pixel) rays.push_back(kCamera.unproject(pixel).value());
  Scorer scorer(usable, kCamera, rays, 8, 5);
  const View view = view_from_pose(kPose);
  const Consensus exact = consensus(usable, kCamera, view, 8);
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second call finds no traces of the first
    const Scorer::Score fast = scorer.score(view, 0, 0);
    EXPECT_TRUE(fast.complete);
    EXPECT_NEAR(fast.score, exact.score, 1e-9);
  }
  EXPECT_FALSE(scorer.score(view, exact.score + 1, 0).complete);
  EXPECT_FALSE(scorer.score(view_from_pose(pose_of({.heading_deg = 90})), 0, 200).complete);
}

TEST(Sampler, NeverTakesAMapPointOrAPixelTwice) {
  auto pairs = make_pairs(kCamera, kPose, {.count = 12});
  for (int i = 0; i < 6; ++i) pairs[i].group = 0;
  for (int i = 6; i < 9; ++i) pairs[i].pixel = pairs[6].pixel;
  const PairSet usable = usable_pairs(pairs);
  Sampler sampler(usable, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3);
  std::array<std::uint32_t, 3> sample;
  int drawn = 0;
  for (int k = 0; k < 500; ++k) {
    if (!sampler.draw(&sample)) continue;
    ++drawn;
    for (const auto& [a, b] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
      EXPECT_NE(usable.group[sample[a]], usable.group[sample[b]]);
      EXPECT_NE(usable.pixel_id[sample[a]], usable.pixel_id[sample[b]]);
    }
  }
  EXPECT_GT(drawn, 450);
  Sampler hopeless(usable, {0, 1, 2, 3, 4, 5}, 3);  // one map point only
  EXPECT_FALSE(hopeless.draw(&sample));
}

TEST(Sampler, TriesTheBetterPairsFirst) {
  auto pairs = make_pairs(kCamera, kPose, {.count = 1000});
  for (int i = 0; i < 20; ++i) pairs[i * 37].quality = 1;
  const PairSet usable = usable_pairs(pairs);
  std::vector<std::uint32_t> all(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) all[i] = i;
  Sampler sampler(usable, all, 1);
  std::array<std::uint32_t, 3> sample;
  int best_only = 0;
  for (int k = 0; k < 40; ++k) {
    ASSERT_TRUE(sampler.draw(&sample));
    best_only += std::ranges::all_of(sample, [&](auto i) { return usable.quality[i] > 0; });
  }
  EXPECT_GE(best_only, 15);
  EXPECT_EQ(sampler.uniform_draws(), 20);
}

}  // namespace
}  // namespace skyfix::solve
