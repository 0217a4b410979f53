#include <gmock/gmock.h>

#include <limits>

#include "skyfix/base/parallel.h"
#include "skyfix/match/mutual_nearest.h"
#include "skyfix/match/testing.h"

namespace skyfix {
namespace {

using testing::Descriptors;

constexpr float kNone = -std::numeric_limits<float>::infinity();

class RunnerUp : public ::testing::TestWithParam<Simd> {
 protected:
  void TearDown() override { set_thread_count(0); }
};
INSTANTIATE_TEST_SUITE_P(Simd, RunnerUp, ::testing::ValuesIn(testing::available_simds()),
                         [](const auto& info) { return std::string(simd_name(info.param)); });

// The definition, one product after the other; integer rows make it exact.
std::vector<float> slow_runner_up(const Descriptors& query, const Descriptors& map,
                                  const std::vector<std::uint32_t>& group,
                                  const std::vector<MutualPair>& pairs) {
  std::vector<float> best(pairs.size(), kNone);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (std::int64_t j = 0; j < map.rows; ++j) {
      if (group[j] == group[pairs[p].map]) continue;
      float sum = 0;
      for (int k = 0; k < map.dimension; ++k) {
        sum += query.view().row(pairs[p].query)[k] * map.view().row(j)[k];
      }
      if (sum > best[p]) best[p] = sum;  // false for the rows that hold a NaN
    }
  }
  return best;
}

TEST_P(RunnerUp, IsTheBestOfTheOtherGroups) {
  std::mt19937 random(11);
  for (const auto [n, m, d] : {std::array{50, 200, 24}, std::array{333, 1201, 128},
                               std::array{7, 5, 3}, std::array{40, 33, 300}}) {
    const Descriptors query = testing::integer_rows(n, d, 3, random);
    Descriptors map = testing::integer_rows(m, d, 3, random);
    map.row(m - 1)[0] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::uint32_t> group(m);
    for (std::uint32_t& g : group) g = random() % (m / 3 + 1) + 0xfffffff0u;  // 0 among them
    for (std::size_t threads : {1, 3}) {
      set_thread_count(threads);
      const auto pairs = mutual_pairs(nearest_neighbours(query.view(), map.view(), GetParam()));
      ASSERT_FALSE(pairs.empty());
      EXPECT_EQ(runner_up_scores(query.view(), map.view(), group, pairs, GetParam()),
                slow_runner_up(query, map, group, pairs));
    }
  }
}

TEST_P(RunnerUp, NothingElseMeansNoRunnerUp) {
  std::mt19937 random(12);
  const Descriptors query = testing::normal_rows(20, 24, random);
  const Descriptors map = testing::normal_rows(45, 24, random);
  const auto pairs = mutual_pairs(nearest_neighbours(query.view(), map.view(), GetParam()));
  const std::vector<std::uint32_t> one_group(45, 7);
  const auto scores = runner_up_scores(query.view(), map.view(), one_group, pairs, GetParam());
  EXPECT_EQ(scores.size(), pairs.size());
  EXPECT_THAT(scores, ::testing::Each(kNone));
  EXPECT_TRUE(runner_up_scores(query.view(), map.view(), one_group, {}, GetParam()).empty());
}

TEST_P(RunnerUp, IsNeverAboveTheWinnerAndHasItsBits) {
  // With a copy of every map row in a group of its own, the runner-up is the winner's twin.
  std::mt19937 random(13);
  const Descriptors query = testing::normal_rows(100, 24, random);
  Descriptors map = testing::normal_rows(131, 24, random);
  map.values.insert(map.values.end(), map.values.begin(), map.values.begin() + 131 * 24);
  map.rows = 262;
  std::vector<std::uint32_t> group(262);
  for (std::uint32_t j = 0; j < 262; ++j) group[j] = j;
  const auto pairs = mutual_pairs(nearest_neighbours(query.view(), map.view(), GetParam()));
  const auto scores = runner_up_scores(query.view(), map.view(), group, pairs, GetParam());
  for (std::size_t p = 0; p < pairs.size(); ++p) EXPECT_EQ(scores[p], pairs[p].score);
}

}  // namespace
}  // namespace skyfix
