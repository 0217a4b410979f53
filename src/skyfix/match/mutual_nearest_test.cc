#include "skyfix/match/mutual_nearest.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "skyfix/base/parallel.h"
#include "skyfix/match/testing.h"

namespace skyfix {
namespace {

using testing::Descriptors;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class MutualNearest : public ::testing::TestWithParam<Simd> {
 protected:
  void TearDown() override { set_thread_count(0); }
  NearestNeighbours find(const Descriptors& query, const Descriptors& map) const {
    return nearest_neighbours(query.view(), map.view(), GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(Simd, MutualNearest, ::testing::ValuesIn(testing::available_simds()),
                         [](const auto& info) { return std::string(simd_name(info.param)); });

double product(const float* a, const float* b, int d) {
  double sum = 0;
  for (int k = 0; k < d; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

double norm(const float* a, int d) { return std::sqrt(product(a, a, d)); }

// Where the winner in double precision is clear by more than float32 rounding, it must be found;
// elsewhere one that ties with it within rounding.
void expect_neighbours(DescriptorView from, DescriptorView to,
                       const std::vector<std::int64_t>& found,
                       const std::vector<std::int64_t>& exact) {
  ASSERT_EQ(found.size(), exact.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == exact[i]) continue;
    ASSERT_GE(found[i], 0) << i;
    ASSERT_GE(exact[i], 0) << i;
    const int d = from.dimension;
    const float* row = from.row(i);
    const double gap = product(row, to.row(exact[i]), d) - product(row, to.row(found[i]), d);
    const double rounding = (d + 2) * std::ldexp(1.0, -24) * norm(row, d) *
                            (norm(to.row(exact[i]), d) + norm(to.row(found[i]), d));
    EXPECT_LE(gap, rounding) << "row " << i << ": " << found[i] << " instead of " << exact[i];
  }
}

void expect_same(const NearestNeighbours& a, const NearestNeighbours& b) {
  EXPECT_EQ(a.nn_query, b.nn_query);
  EXPECT_EQ(a.nn_map, b.nn_map);
  EXPECT_EQ(a.score_query, b.score_query);
  EXPECT_EQ(a.score_map, b.score_map);
}

NearestNeighbours swapped(NearestNeighbours a) {
  std::swap(a.nn_query, a.nn_map);
  std::swap(a.score_query, a.score_map);
  return a;
}

struct Shape {
  int n, m, d;
};

// Primes, exact multiples of the tiles, less than a tile, one row, long rows of several chunks.
const Shape kShapes[] = {{1, 1, 1},      {1, 1, 24},    {2, 31, 3},     {3, 33, 24},
                         {11, 15, 32},   {12, 32, 24},  {13, 17, 64},   {24, 64, 128},
                         {97, 211, 24},  {211, 97, 24}, {499, 503, 32}, {193, 384, 128},
                         {67, 71, 255},  {67, 71, 256}, {67, 71, 257},  {29, 300, 700},
                         {1009, 67, 17}, {5, 2003, 5},  {2003, 5, 5},   {37, 41, 2}};

TEST_P(MutualNearest, AgreesWithDoublePrecisionForAnyShapeAndThreadCount) {
  std::mt19937 random(1);
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(::testing::Message() << shape.n << "x" << shape.m << "x" << shape.d);
    const Descriptors query = testing::normal_rows(shape.n, shape.d, random);
    const Descriptors map = testing::normal_rows(shape.m, shape.d, random);
    const NearestNeighbours exact = reference::nearest_neighbours(query.view(), map.view());
    set_thread_count(1);
    const NearestNeighbours found = find(query, map);
    expect_neighbours(query.view(), map.view(), found.nn_query, exact.nn_query);
    expect_neighbours(map.view(), query.view(), found.nn_map, exact.nn_map);
    for (std::size_t threads = 2; threads <= 4; ++threads) {
      set_thread_count(threads);
      expect_same(find(query, map), found);
    }
  }
}

TEST_P(MutualNearest, IntegerRowsAreExactTiesIncluded) {
  std::mt19937 random(2);
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(::testing::Message() << shape.n << "x" << shape.m << "x" << shape.d);
    const Descriptors query = testing::integer_rows(shape.n, shape.d, 1, random);
    const Descriptors map = testing::integer_rows(shape.m, shape.d, 1, random);
    expect_same(find(query, map), reference::nearest_neighbours(query.view(), map.view()));
  }
}

// Three distinct rows only: each has copies in every panel, block and thread's share.
TEST_P(MutualNearest, TheLowestIndexWinsAcrossBlocksAndThreads) {
  std::mt19937 random(3);
  const Descriptors few = testing::integer_rows(3, 128, 3, random);
  Descriptors query(1501, 128), map(1307, 128);
  for (int i = 0; i < query.rows; ++i) {
    std::copy_n(few.values.data() + (i * 7 % 3) * 128, 128, query.row(i));
  }
  for (int j = 0; j < map.rows; ++j) {
    std::copy_n(few.values.data() + (2 - j % 3) * 128, 128, map.row(j));
  }
  for (std::size_t threads = 1; threads <= 4; ++threads) {
    set_thread_count(threads);
    const NearestNeighbours found = find(query, map);
    expect_same(found, reference::nearest_neighbours(query.view(), map.view()));
    EXPECT_LT(*std::max_element(found.nn_query.begin(), found.nn_query.end()), 3);
    EXPECT_LT(*std::max_element(found.nn_map.begin(), found.nn_map.end()), 3);
  }
}

TEST_P(MutualNearest, RisingScoresUpdateEveryTime) {
  // The best comes last in both directions, so every tile finds better columns and rows.
  Descriptors query(500, 3), map(700, 3);
  for (int i = 0; i < query.rows; ++i) query.row(i)[0] = 1.0f + i;
  for (int j = 0; j < map.rows; ++j) map.row(j)[0] = 1.0f + j;
  const NearestNeighbours found = find(query, map);
  EXPECT_THAT(found.nn_query, ::testing::Each(699));
  EXPECT_THAT(found.nn_map, ::testing::Each(499));
}

TEST_P(MutualNearest, ExchangingTheSidesExchangesTheResult) {
  std::mt19937 random(4);
  const Descriptors query = testing::normal_rows(419, 24, random);
  const Descriptors map = testing::normal_rows(1013, 24, random);
  set_thread_count(2);
  expect_same(swapped(find(map, query)), find(query, map));
}

TEST_P(MutualNearest, AProductDoesNotDependOnWhereItsRowsStand) {
  std::mt19937 random(5);
  const Descriptors query = testing::normal_rows(60, 40, random);
  const Descriptors map = testing::normal_rows(1, 40, random);
  const NearestNeighbours together = find(query, map);
  for (int i = 0; i < query.rows; ++i) {
    Descriptors one(1, 40);
    std::copy_n(query.values.data() + i * 40, 40, one.row(0));
    EXPECT_EQ(find(one, map).score_query[0], together.score_query[i]) << i;
  }
}

TEST_P(MutualNearest, RowsThatAreNotFiniteNeverMatch) {
  std::mt19937 random(6);
  Descriptors query = testing::normal_rows(150, 24, random);
  Descriptors map = testing::normal_rows(400, 24, random);
  // The first row, the last, a lone one, and more than any whole panel.
  for (int i : {0, 7, 149}) query.row(i)[i % 24] = i == 7 ? -kInf : kNan;
  for (int i = 30; i < 75; ++i) query.row(i)[23] = kNan;
  for (int j : {0, 1, 40, 399}) map.row(j)[j % 24] = j == 40 ? kInf : -kNan;
  for (int j = 100; j < 200; ++j) map.row(j)[0] = kInf;
  const NearestNeighbours exact = reference::nearest_neighbours(query.view(), map.view());
  const NearestNeighbours found = find(query, map);
  EXPECT_EQ(found.nn_query, exact.nn_query);
  EXPECT_EQ(found.nn_map, exact.nn_map);
  EXPECT_EQ(found.nn_query[7], -1);
  EXPECT_EQ(found.score_query[7], -kInf);
  EXPECT_EQ(found.nn_map[150], -1);
}

TEST_P(MutualNearest, NegativeProductsMatchToo) {
  Descriptors query(5, 24), map(7, 24);
  for (int i = 0; i < 5; ++i) query.row(i)[0] = -1.0f - i;
  for (int j = 0; j < 7; ++j) map.row(j)[0] = 1.0f + j;
  const NearestNeighbours found = find(query, map);
  EXPECT_THAT(found.nn_query, ::testing::Each(0));
  EXPECT_THAT(found.nn_map, ::testing::Each(0));
  EXPECT_EQ(found.score_query[4], -5.0f);
}

TEST_P(MutualNearest, AnEmptySideMatchesNothing) {
  std::mt19937 random(7);
  const Descriptors some = testing::normal_rows(5, 24, random);
  const Descriptors none(0, 24);
  EXPECT_THAT(find(some, none).nn_query, ::testing::ElementsAre(-1, -1, -1, -1, -1));
  EXPECT_THAT(find(none, some).nn_map, ::testing::Each(-1));
  EXPECT_TRUE(find(none, none).nn_query.empty());
  EXPECT_TRUE(mutual_pairs(find(some, none)).empty());
}

// Finite rows whose products are not: NaN (infinity less infinity) must not hide the others.
TEST_P(MutualNearest, ProductsThatOverflowDoNotDisturbOthers) {
  std::mt19937 random(8);
  Descriptors query = testing::normal_rows(40, 8, random);
  Descriptors map = testing::normal_rows(90, 8, random);
  for (int i : {0, 13, 39}) {
    query.row(i)[0] = 3e38f;
    query.row(i)[1] = 3e38f;
  }
  for (int j : {0, 50, 89}) {
    map.row(j)[0] = 3e38f;
    map.row(j)[1] = -3e38f;
  }
  const NearestNeighbours found = find(query, map);
  for (int i = 0; i < query.rows; ++i) {
    float best = -kInf;
    for (int j = 0; j < map.rows; ++j) {
      const double score = product(query.row(i), map.row(j), 8);
      if (std::abs(score) < 1000) best = std::max(best, static_cast<float>(score));
    }
    EXPECT_GE(found.score_query[i], best - 1e-4f) << i;
  }
  for (const float score : found.score_query) EXPECT_FALSE(std::isnan(score));
  for (const float score : found.score_map) EXPECT_FALSE(std::isnan(score));
  EXPECT_THAT(found.nn_map, ::testing::Each(::testing::Ge(0)));
}

TEST(MutualNearestKernels, FusedKernelsAgreeToTheBit) {
  if (best_simd() != Simd::avx512) GTEST_SKIP() << "this processor has no AVX-512";
  std::mt19937 random(9);
  const Descriptors query = testing::normal_rows(307, 100, random);
  const Descriptors map = testing::normal_rows(701, 100, random);
  expect_same(nearest_neighbours(query.view(), map.view(), Simd::avx2),
              nearest_neighbours(query.view(), map.view(), Simd::avx512));
}

TEST(MutualNearestKernels, TheEnvironmentLowersTheChoice) {
  const Simd best = best_simd();
  ::setenv("SKYFIX_SIMD", "scalar", 1);
  EXPECT_EQ(best_simd(), Simd::scalar);
  ::setenv("SKYFIX_SIMD", "avx512", 1);
  EXPECT_EQ(best_simd(), best);
  ::setenv("SKYFIX_SIMD", "nonsense", 1);
  EXPECT_EQ(best_simd(), best);
  ::unsetenv("SKYFIX_SIMD");
}

TEST(MutualNearestKernels, CallsFromWithinThePoolWork) {
  std::mt19937 random(10);
  const Descriptors query = testing::normal_rows(900, 24, random);
  const Descriptors map = testing::normal_rows(300, 24, random);
  const NearestNeighbours alone = nearest_neighbours(query.view(), map.view());
  set_thread_count(3);
  std::vector<NearestNeighbours> nested(6);
  parallel_for(nested.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      nested[i] = nearest_neighbours(query.view(), map.view());
    }
  });
  set_thread_count(0);
  for (const NearestNeighbours& found : nested) expect_same(found, alone);
}

TEST(MutualPairs, ChoosesThoseThatChooseEachOther) {
  NearestNeighbours neighbours;
  neighbours.nn_query = {1, 1, -1, 0};
  neighbours.nn_map = {3, 0};
  neighbours.score_query = {5, 4, -kInf, 2};
  neighbours.score_map = {2, 5};
  const std::vector<MutualPair> pairs = mutual_pairs(neighbours);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].query, 0);
  EXPECT_EQ(pairs[0].map, 1);
  EXPECT_EQ(pairs[0].score, 5.0f);
  EXPECT_EQ(pairs[1].query, 3);
  EXPECT_EQ(pairs[1].map, 0);
}

}  // namespace
}  // namespace skyfix
