#include "skyfix/match/device_references.h"

#include <gtest/gtest.h>

#include <limits>

#include "skyfix/match/pool_testing.h"

namespace skyfix::match {
namespace {

using testing::TestPool;

class ReferenceStoreTest : public ::testing::Test {
 protected:
  ReferenceStoreTest() {
    std::mt19937 random(61);
    for (int key = 0; key < 4; ++key) {
      pool_.add(key, testing::normal_rows(10, 3, random), std::vector<std::uint32_t>(10, 5 + key));
    }
    pool_.rows[1].row(2)[1] = std::numeric_limits<float>::quiet_NaN();
  }
  std::uint64_t held() const { return ledger_.figures().bytes; }

  std::unique_ptr<Device> device_ = make_host_device();
  Ledger ledger_{*device_};
  std::unique_ptr<MatchKernels> kernels_ = make_host_match_kernels();
  TestPool pool_;
  const std::uint64_t bytes_ = ReferenceLayout(10, 3).bytes;
};

TEST_F(ReferenceStoreTest, HoldsRowsBiasAndGroups) {
  ReferenceStore store(ledger_, *kernels_, {bytes_});
  const auto handle = store.add(pool_.references[1]);
  ASSERT_NE(handle, nullptr);
  const PlacedReference& placed = handle->placed();
  ASSERT_EQ(placed.rows.rows, 10);
  const auto* rows = static_cast<const float*>(placed.rows.data);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(rows[i * 3], pool_.rows[1].row(i)[0]);
    EXPECT_EQ(placed.rows.bias[i], i == 2 ? -std::numeric_limits<float>::infinity() : 0);
    EXPECT_EQ(placed.group[i], 6u);
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(placed.group) % 256, 0u);
  EXPECT_EQ(store.find(1), handle);
  EXPECT_EQ(store.find(0), nullptr);
}

TEST_F(ReferenceStoreTest, WhatIsPinnedStaysAndTheRestMakesRoom) {
  ReferenceStore store(ledger_, *kernels_, {2 * bytes_});
  auto first = store.add(pool_.references[0]);
  store.add(pool_.references[1]);
  const auto third = store.add(pool_.references[2]);
  EXPECT_EQ(store.find(1), nullptr);
  EXPECT_EQ(store.add(pool_.references[3]), nullptr) << "both are pinned";
  EXPECT_EQ(held(), 2 * bytes_);
  EXPECT_EQ(store.release_unpinned(), 0u);
  first.reset();
  EXPECT_EQ(store.release_unpinned(), bytes_);
  EXPECT_EQ(held(), bytes_);
}

TEST_F(ReferenceStoreTest, TakesOverTheMemoryOfTheOneThatWent) {
  ReferenceStore store(ledger_, *kernels_, {bytes_});
  store.add(pool_.references[0]);
  ledger_.forbid_allocations(true);
  const auto second = store.add(pool_.references[1]);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(static_cast<const float*>(second->placed().rows.data)[0], pool_.rows[1].row(0)[0]);
}

TEST_F(ReferenceStoreTest, MemoryOfAnotherSizeGoesBackFirst) {
  std::mt19937 random(62);
  pool_.add(9, testing::normal_rows(11, 3, random), std::vector<std::uint32_t>(11, 1));
  ReferenceStore store(ledger_, *kernels_, {bytes_ + 256});
  store.add(pool_.references[0]);
  store.add(pool_.references[4]);
  EXPECT_LE(ledger_.figures().peak_bytes, bytes_ + 256);
  EXPECT_EQ(store.figures().entries, 1u);
}

TEST_F(ReferenceStoreTest, AFailureLeavesTheCacheAsItIs) {
  Ledger failing(*device_, {.nth = 2});
  ReferenceStore store(failing, *kernels_, {4 * bytes_});
  store.add(pool_.references[0]);
  EXPECT_THROW(store.add(pool_.references[1]), OutOfDeviceMemory);
  EXPECT_NE(store.find(0), nullptr);
  EXPECT_EQ(store.find(1), nullptr);
  EXPECT_NE(store.add(pool_.references[1]), nullptr);
}

}  // namespace
}  // namespace skyfix::match
