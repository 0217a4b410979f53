// The device's side of the match benchmark, on the stand-in device.
#include "bench/match_device.h"

#include <gmock/gmock.h>

#include <new>

#include "bench/torch_peers.h"

namespace skyfix::bench {
namespace {

constexpr MatchShape kShape{700, 301, 24};

std::vector<MatchBenchmarkRow> rows_on(std::uint64_t cap_bytes, RowType type) {
  const auto device = make_host_device(cap_bytes);
  const auto kernels = make_host_match_kernels();
  MatchBenchmarkOptions options;
  options.repeat = 2;
  options.type = type;
  return benchmark_match_on(*device, *kernels, kShape, options);
}

TEST(DeviceMatch, EveryMethodFindsTheNeighbours) {
  const auto rows = rows_on(0, RowType::float32);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].method, "skyfix");
  EXPECT_EQ(rows[1].method, "torch_full");
  EXPECT_EQ(rows[2].method, "torch_chunks");
  for (const MatchBenchmarkRow& row : rows) {
    EXPECT_EQ(row.note, "") << row.method;
    EXPECT_EQ(row.equal, 1.0) << row.method;
    EXPECT_GT(row.ms, 0) << row.method;
    EXPECT_GT(row.queued_ms, 0) << row.method;
    EXPECT_EQ(row.device, "host memory");
    EXPECT_EQ(row.dtype, "float32");
  }
}

TEST(DeviceMatch, ExtraMemoryIsThatOfTheBiasAlone) {
  const auto rows = rows_on(0, RowType::float32);
  EXPECT_GE(rows[0].extra_bytes, 4 * (kShape.n + kShape.m));
  EXPECT_LT(rows[0].extra_bytes, 4 * (kShape.n + kShape.m) + 256);
}

TEST(DeviceMatch, HalfRowsAreOursAlone) {
  for (const RowType type : {RowType::float16, RowType::bfloat16}) {
    const auto rows = rows_on(0, type);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].equal, 1.0);
    EXPECT_EQ(rows[0].dtype, type == RowType::float16 ? "float16" : "bfloat16");
  }
}

TEST(DeviceMatch, WhatRunsOutOfMemoryHasARowThatSaysSo) {
  // Room for inputs and outputs, not for the bias beside them.
  const std::uint64_t held = (kShape.n + kShape.m) * (24 * 4 + 12) + 6 * 256;
  const auto rows = rows_on(held + 512, RowType::float32);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[0].note, ::testing::HasSubstr("out of device memory"));
  EXPECT_EQ(rows[0].ms, 0);
  // LibTorch's memory on the CPU is not the stand-in's: these go on.
  EXPECT_EQ(rows[1].equal, 1.0);
}

TEST(DeviceMatch, InputsThatDoNotFitGiveRowsThatSaySo) {
  const auto rows = rows_on(512, RowType::float32);
  ASSERT_EQ(rows.size(), 3u);
  for (const MatchBenchmarkRow& row : rows) {
    EXPECT_THAT(row.note, ::testing::HasSubstr("out of device memory")) << row.method;
    EXPECT_EQ(row.ms, 0);
  }
}

// 512 TiB: more than a process can address, so that nothing is touched.
TEST(TorchPeers, AMatrixThatTheHostRefusesIsALackOfMemory) {
  constexpr std::int64_t kRows = std::int64_t{1} << 24, kColumns = std::int64_t{1} << 23;
  const MatchArrays arrays{nullptr, nullptr, kRows,   kColumns, 1,
                           nullptr, nullptr, nullptr, nullptr};
  EXPECT_THROW(match_by_full_matrix(arrays, DeviceKind::cpu), std::bad_alloc);
}

TEST(TorchPeers, ChunksOfAnySizeGiveTheWholeMatrixsResult) {
  set_up_torch(DeviceKind::cpu, 2);
  // Integers: every order of summation gives the same products. No two of a row or column are
  // equal.
  const std::vector<float> query = {1, 2, 3, 5, 7, 11, 13};
  const std::vector<float> map = {1, -2, 3};
  std::vector<std::int64_t> whole_query(7), whole_map(3), nn_query(7), nn_map(3);
  std::vector<float> score_query(7), score_map(3);
  MatchArrays arrays{
      query.data(),     map.data(),      7, 3, 1, whole_query.data(), score_query.data(),
      whole_map.data(), score_map.data()};
  match_by_full_matrix(arrays, DeviceKind::cpu);
  EXPECT_THAT(whole_query, ::testing::Each(2));
  EXPECT_THAT(whole_map, ::testing::ElementsAre(6, 0, 6));
  EXPECT_THAT(score_map, ::testing::ElementsAre(13, -2, 39));
  arrays.nn_query = nn_query.data();
  arrays.nn_map = nn_map.data();
  for (const std::int64_t chunk : {1, 2, 3, 6, 7, 100}) {
    nn_query.assign(7, -1);
    nn_map.assign(3, -1);
    match_by_chunks(arrays, DeviceKind::cpu, chunk);
    EXPECT_EQ(nn_query, whole_query) << chunk;
    EXPECT_EQ(nn_map, whole_map) << chunk;
  }
}

}  // namespace
}  // namespace skyfix::bench
