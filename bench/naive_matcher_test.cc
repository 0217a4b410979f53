#include "bench/naive_matcher.h"

#include <gtest/gtest.h>

#include "bench/memory_walk.h"

namespace skyfix::bench {
namespace {

TEST(NaiveMatcher, FindsThePairsOfEveryReference) {
  WalkOptions walk;
  walk.query_rows = 500;
  walk.map_points = 40;
  NaiveMatcher naive(DeviceKind::cpu);
  for (int i = 0; i < 3; ++i) {
    const WalkFrame frame(walk, i);
    const auto references = frame.references();
    std::int64_t expected = 0;
    for (const PoolReference& reference : references) {
      expected += mutual_pairs(nearest_neighbours(frame.query(), reference.rows)).size();
    }
    EXPECT_EQ(naive.match(frame.query(), references), expected) << i;
    EXPECT_GT(expected, 0);
  }
}

TEST(NaiveMatcher, TakesReferencesWithMoreRowsThanThePhoto) {
  WalkOptions walk;
  walk.query_rows = 20;
  walk.map_points = 40;
  NaiveMatcher naive(DeviceKind::cpu);
  const WalkFrame frame(walk, 0);
  EXPECT_GT(naive.match(frame.query(), frame.references()), 0);
}

}  // namespace
}  // namespace skyfix::bench
