#include "skyfix/match/device_pairs.h"

#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "skyfix/match/cuda_match_kernels.h"

namespace skyfix {
namespace {

constexpr int kDimension = 24;

struct Rows {
  std::vector<float> values, sure;
  SureRows view() const {
    return {values.data(), std::int64_t(sure.size()), kDimension, sure.data()};
  }
};

Rows make_rows(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> sure(1, 9);
  Rows rows;
  for (std::int64_t i = 0; i < count * kDimension; ++i) rows.values.push_back(normal(random));
  for (std::int64_t i = 0; i < count; ++i) rows.sure.push_back(sure(random));
  return rows;
}

void expect_equal(const std::vector<SurePair>& found, const std::vector<SurePair>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].mutual.query, wanted[i].mutual.query);
    EXPECT_EQ(found[i].mutual.map, wanted[i].mutual.map);
    EXPECT_EQ(found[i].mutual.score, wanted[i].mutual.score);
    EXPECT_EQ(found[i].sure, wanted[i].sure);
  }
}

// A device with its kernels, and rows put onto it.
struct OnDevice {
  OnDevice(Device& device, MatchKernels& kernels) : ledger(device), pairs(ledger, kernels) {}
  SureRows put(const Rows& rows) {
    const auto copy = [&](const std::vector<float>& values) {
      held.push_back(ledger.allocate(values.size() * sizeof(float), "test"));
      ledger.device().upload(held.back().data(), values.data(), values.size() * sizeof(float));
      return held.back().as<float>();
    };
    const float* values = copy(rows.values);
    return {values, std::int64_t(rows.sure.size()), kDimension, copy(rows.sure)};
  }
  Ledger ledger;
  std::vector<DeviceBuffer> held;
  DevicePairs pairs;
};

void expect_pairs_of_the_twin(Device& device, MatchKernels& kernels) {
  OnDevice on(device, kernels);
  for (const auto& [queries, maps] : {std::pair(3000, 200), {1, 1}, {17, 900}}) {
    Rows query = make_rows(queries, 1), map = make_rows(maps, 2);
    map.values[0] = std::numeric_limits<float>::quiet_NaN();  // as a place outside the picture
    const auto wanted = sure_pairs_on_host(query.view(), map.view());
    if (queries > 1) {
      EXPECT_GT(wanted.size(), 3);
    }
    expect_equal(on.pairs.match(on.put(query), on.put(map)), wanted);
  }
}

TEST(DevicePairs, AreThoseOfTheHost) {
  const auto device = make_host_device();
  const auto kernels = make_host_match_kernels();
  expect_pairs_of_the_twin(*device, *kernels);
}

TEST(DevicePairs, AreThoseOfTheHostOnAGpu) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const CudaDevice opened = open_cuda_device();
  const auto kernels = make_cuda_match_kernels(opened.facts);
  expect_pairs_of_the_twin(*opened.device, *kernels);
}

TEST(DevicePairs, ASideWithoutRowsHasNone) {
  const auto device = make_host_device();
  const auto kernels = make_host_match_kernels();
  OnDevice on(*device, *kernels);
  const Rows rows = make_rows(5, 1);
  EXPECT_TRUE(on.pairs.match(on.put(rows), {nullptr, 0, kDimension, nullptr}).empty());
  EXPECT_TRUE(on.pairs.match({nullptr, 0, kDimension, nullptr}, on.put(rows)).empty());
}

TEST(DevicePairs, NobodyHasToSayHowSureHeIs) {
  const auto device = make_host_device();
  const auto kernels = make_host_match_kernels();
  OnDevice on(*device, *kernels);
  SureRows query = on.put(make_rows(50, 1)), map = on.put(make_rows(40, 2));
  query.sure = nullptr;
  for (const SurePair& pair : on.pairs.match(query, map)) EXPECT_EQ(pair.sure, 0);
}

TEST(DevicePairs, KeepsItsMemoryUntilItIsReleased) {
  const auto device = make_host_device();
  const auto kernels = make_host_match_kernels();
  OnDevice on(*device, *kernels);
  const SureRows query = on.put(make_rows(500, 1)), map = on.put(make_rows(40, 2));
  on.pairs.match(query, map);
  on.ledger.forbid_allocations(true);
  EXPECT_NO_THROW(on.pairs.match(query, map));
  on.ledger.forbid_allocations(false);
  EXPECT_GT(on.pairs.workspace().release_unpinned(), 500 * sizeof(MatchKey));
  EXPECT_EQ(on.ledger.figures().by_owner.at(std::string(kMatcherOwner)).bytes, 0);
}

}  // namespace
}  // namespace skyfix
