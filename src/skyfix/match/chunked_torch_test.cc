#include "skyfix/match/chunked_torch.h"

#include <gmock/gmock.h>

#include <cmath>
#include <iostream>
#include <limits>

#include "skyfix/base/error.h"
#include "skyfix/match/testing.h"
#include "skyfix/memory/cuda_library.h"

namespace skyfix {
namespace {

using testing::Descriptors;
using testing::Safetensors;

double product(const float* a, const float* b, int d) {
  double sum = 0;
  for (int k = 0; k < d; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

// What float32 cannot decide between two products of rows of these lengths.
double band(const float* a, const float* b, int d) {
  return 2 * (d + 2) * std::ldexp(std::sqrt(product(a, a, d) * product(b, b, d)), -24);
}

// Neighbours of `from` in `to` equal those in double precision wherever the gap exceeds what
// float32 can decide; returns how many within that band differ.
int expect_nearest(DescriptorView from, DescriptorView to, const std::vector<std::int64_t>& found,
                   const std::vector<std::int64_t>& expected) {
  const int d = from.dimension;
  int flips = 0;
  EXPECT_EQ(found.size(), expected.size());
  for (std::int64_t i = 0; i < from.rows; ++i) {
    if (found[i] == expected[i]) continue;
    ++flips;
    EXPECT_GE(found[i], 0) << i;
    EXPECT_GE(expected[i], 0) << i;
    if (found[i] < 0 || expected[i] < 0) continue;
    const float* best = to.row(expected[i]);
    const double gap = product(from.row(i), best, d) - product(from.row(i), to.row(found[i]), d);
    EXPECT_LE(gap, band(from.row(i), best, d)) << i;
  }
  return flips;
}

int expect_near_reference(const Descriptors& query, const Descriptors& map,
                          const TorchMatchOptions& options) {
  const NearestNeighbours found = nearest_neighbours_torch(query.view(), map.view(), options);
  const NearestNeighbours expected = reference::nearest_neighbours(query.view(), map.view());
  for (std::int64_t i = 0; i < query.rows; ++i) {
    if (expected.nn_query[i] < 0) {
      EXPECT_EQ(found.score_query[i], expected.score_query[i]) << i;
    } else {
      const float* best = map.view().row(expected.nn_query[i]);
      EXPECT_NEAR(found.score_query[i], expected.score_query[i],
                  band(query.view().row(i), best, query.dimension))
          << i;
    }
  }
  return expect_nearest(query.view(), map.view(), found.nn_query, expected.nn_query) +
         expect_nearest(map.view(), query.view(), found.nn_map, expected.nn_map);
}

void expect_same(const NearestNeighbours& found, const NearestNeighbours& expected) {
  EXPECT_EQ(found.nn_query, expected.nn_query);
  EXPECT_EQ(found.nn_map, expected.nn_map);
  EXPECT_EQ(found.score_query, expected.score_query);
  EXPECT_EQ(found.score_map, expected.score_map);
}

// On every device of this machine.
class ChunkedTorch : public ::testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override {
    // First of all: LibTorch asks once for its CUDA part, which this loads.
    const std::string problem = why_no_gpu();
    if (GetParam() == DeviceKind::cpu) return;
    if (!problem.empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << problem;
    gpu_ = open_cuda_device();
  }
  TorchMatchOptions chunks_of(std::int64_t rows) const { return {rows, GetParam()}; }

 private:
  CudaDevice gpu_;
};
INSTANTIATE_TEST_SUITE_P(Devices, ChunkedTorch,
                         ::testing::Values(DeviceKind::cpu, DeviceKind::cuda),
                         [](const auto& info) {
                           return std::string(device_kind_name(info.param));
                         });

TEST_P(ChunkedTorch, IntegerRowsGiveExactlyWhatTheSimdMatcherGives) {
  std::mt19937 random(3);
  for (const auto [n, m, d] : {std::array{257, 131, 24}, std::array{64, 300, 32},
                               std::array{1, 9, 1}, std::array{90, 1, 128}}) {
    Descriptors query = testing::integer_rows(n, d, 1, random);
    const Descriptors map = testing::integer_rows(m, d, 1, random);
    query.row(n / 2)[0] = std::numeric_limits<float>::quiet_NaN();
    const NearestNeighbours expected = nearest_neighbours(query.view(), map.view());
    for (const std::int64_t chunk : {0, 1, 7, 64, 4096}) {
      SCOPED_TRACE(chunk);
      expect_same(nearest_neighbours_torch(query.view(), map.view(), chunks_of(chunk)), expected);
    }
  }
}

TEST_P(ChunkedTorch, AllRowsEqualGoToTheLowestIndex) {
  Descriptors query(300, 24), map(200, 24);
  std::fill(query.values.begin(), query.values.end(), 1.0f);
  std::fill(map.values.begin(), map.values.end(), 1.0f);
  for (const std::int64_t chunk : {0, 64}) {
    const auto found = nearest_neighbours_torch(query.view(), map.view(), chunks_of(chunk));
    EXPECT_THAT(found.nn_query, ::testing::Each(0));
    EXPECT_THAT(found.nn_map, ::testing::Each(0));
  }
}

TEST_P(ChunkedTorch, RowsThatAreNotFiniteNeverMatch) {
  std::mt19937 random(4);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Descriptors query = testing::normal_rows(20, 8, random);
  Descriptors map = testing::normal_rows(15, 8, random);
  query.row(3)[7] = kInfinity;
  map.row(0)[0] = -kInfinity;
  map.row(14)[2] = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t chunk : {0, 6}) {
    const auto found = nearest_neighbours_torch(query.view(), map.view(), chunks_of(chunk));
    EXPECT_EQ(found.nn_query[3], -1);
    EXPECT_EQ(found.score_query[3], -kInfinity);
    EXPECT_EQ(found.nn_map[0], -1);
    EXPECT_EQ(found.nn_map[14], -1);
    EXPECT_THAT(found.nn_query, ::testing::Not(::testing::Contains(0)));
    EXPECT_THAT(found.nn_map, ::testing::Not(::testing::Contains(3)));
    EXPECT_EQ(expect_near_reference(query, map, chunks_of(chunk)), 0);
  }
}

TEST_P(ChunkedTorch, ProductsThatOverflowAreNobodysBest) {
  // Rows: the product is infinite, minus infinity, or (inf - inf) not a number.
  Descriptors query(1, 2), map(3, 2);
  query.values = {3e38f, 3e38f};
  map.values = {-3e38f, -3e38f, 3e38f, -3e38f, 1e-38f, 0};
  const auto found = nearest_neighbours_torch(query.view(), map.view(), chunks_of(0));
  EXPECT_THAT(found.nn_query, ::testing::ElementsAre(2));
  EXPECT_THAT(found.nn_map, ::testing::ElementsAre(-1, -1, 0));
}

TEST_P(ChunkedTorch, EmptySidesGiveNone) {
  const Descriptors none(0, 24), some(3, 24);
  const auto found = nearest_neighbours_torch(some.view(), none.view(), chunks_of(0));
  EXPECT_THAT(found.nn_query, ::testing::ElementsAre(-1, -1, -1));
  EXPECT_TRUE(found.nn_map.empty());
  EXPECT_EQ(nearest_neighbours_torch(none.view(), some.view(), chunks_of(2)).nn_map.size(), 3u);
}

TEST_P(ChunkedTorch, RandomRowsAreRightWhereverFloatsCanDecide) {
  std::mt19937 random(5);
  int flips = 0;
  std::int64_t rows = 0;
  for (const int d : {24, 128}) {
    const Descriptors query = testing::normal_rows(900, d, random);
    const Descriptors map = testing::normal_rows(700, d, random);
    flips += expect_near_reference(query, map, chunks_of(256));
    rows += query.rows + map.rows;
  }
  std::cout << "neighbours that differ within rounding: " << flips << " of " << rows << "\n";
}

TEST_P(ChunkedTorch, GoldenCases) {
  const auto folder = std::filesystem::path(SKYFIX_SOURCE_DIR) / "tests/data/matching";
  const Safetensors golden(folder / "cases.safetensors");
  const auto manifest = nlohmann::json::parse(read_file(folder / "manifest.json"));
  ASSERT_GE(manifest.at("cases").size(), 15u);
  int flips = 0;
  for (const auto& item : manifest.at("cases").items()) {
    const std::string& name = item.key();
    SCOPED_TRACE(name);
    const Descriptors query = golden.read_rows(name + ".query");
    const Descriptors map = golden.read_rows(name + ".map");
    const auto found = nearest_neighbours_torch(query.view(), map.view(), chunks_of(100));
    flips += expect_nearest(query.view(), map.view(), found.nn_query,
                            golden.read<std::int64_t>(name + ".nn_query"));
    flips += expect_nearest(map.view(), query.view(), found.nn_map,
                            golden.read<std::int64_t>(name + ".nn_map"));
  }
  std::cout << "neighbours that differ within rounding: " << flips << "\n";
}

TEST(ChunkedTorchWithoutGpu, SaysWhy) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  const Descriptors one(1, 4);
  EXPECT_THROW(nearest_neighbours_torch(one.view(), one.view(), {0, DeviceKind::cuda}), Error);
}

}  // namespace
}  // namespace skyfix
