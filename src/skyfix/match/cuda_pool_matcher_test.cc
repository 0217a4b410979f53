// The budgeted matcher on a GPU: equal to the CPU's, whatever fails and however small the cap.
// Skipped, aloud, without a GPU.
#include <gmock/gmock.h>

#include "skyfix/match/cuda_match_kernels.h"
#include "skyfix/match/pool_testing.h"

namespace skyfix {
namespace {

using testing::Descriptors;
using testing::expect_equal;
using testing::match_on_cpu;
using testing::random_pool;
using testing::random_query;
using testing::TestPool;

constexpr std::uint64_t kMiB = 1 << 20;

class GpuPoolMatcher : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << why_no_gpu();
    if (best_simd() == Simd::scalar) GTEST_SKIP() << "SKIPPED: the CPU has no fused kernels";
    opened_ = open_cuda_device();
    kernels_ = make_cuda_match_kernels(opened_.facts);
    std::mt19937 random(51);
    for (int frame = 0; frame < 4; ++frame) {
      queries_.push_back(random_query(3000 + 500 * frame, 24, random));
      pools_.push_back(random_pool(5, 900, 24, random, 5 * frame));
      expected_.push_back(match_on_cpu(queries_.back(), pools_.back()));
    }
    options_.reference_cache = {64 * kMiB, 3};
    options_.chunk_rows = 1000;
    options_.batch = 2;
  }
  void TearDown() override {
    if (opened_.device) opened_.device->set_cap(0);
  }

  // Runs all frames; returns the retries.
  int run(Ledger& ledger) {
    PoolMatcher matcher(ledger, *kernels_, options_);
    int retries = 0;
    for (std::size_t frame = 0; frame < queries_.size(); ++frame) {
      const PoolMatches found = matcher.match(queries_[frame].view(), pools_[frame].references);
      expect_equal(found, expected_[frame]);
      retries += static_cast<int>(found.retries.events.size());
    }
    return retries;
  }

  CudaDevice opened_;
  std::unique_ptr<MatchKernels> kernels_;
  std::vector<Descriptors> queries_;
  std::deque<TestPool> pools_;
  std::vector<PoolMatches> expected_;
  PoolMatcherOptions options_;
};

TEST_F(GpuPoolMatcher, EqualsTheCpuWhicheverAllocationFails) {
  Ledger whole(*opened_.device);
  ASSERT_EQ(run(whole), 0);
  const std::uint64_t count = whole.faults().seen();
  ASSERT_GE(count, 8u);
  for (std::uint64_t n = 1; n <= count; ++n) {
    Ledger ledger(*opened_.device, {.nth = n});
    EXPECT_EQ(run(ledger), 1) << n;
  }
  Ledger none(*opened_.device, {.above_bytes = 0});
  EXPECT_GT(run(none), 4) << "all on the CPU at last";
}

TEST_F(GpuPoolMatcher, ARealCapIsKeptAndNothingIsLost) {
  // The allocator takes 2 MiB at a time: caps below need real failures and retries.
  options_.reference_cache = {64 * kMiB, 100};
  options_.chunk_rows = 0;
  options_.batch = 0;
  for (const std::uint64_t cap : {1 * kMiB, 2 * kMiB, 4 * kMiB, 64 * kMiB}) {
    opened_.device->trim();
    opened_.device->set_cap(cap);
    opened_.device->reset_peaks();
    Ledger ledger(*opened_.device);
    const int retries = run(ledger);
    EXPECT_LE(opened_.device->figures().peak_reserved_bytes, cap);
    if (cap == 1 * kMiB) {
      EXPECT_GT(retries, 0);
    }
    if (cap == 64 * kMiB) {
      EXPECT_EQ(retries, 0);
    }
  }
}

TEST_F(GpuPoolMatcher, NothingIsAllocatedAfterWarmUp) {
  options_.reference_cache = {};
  Ledger ledger(*opened_.device);
  PoolMatcher matcher(ledger, *kernels_, options_);
  const auto once = [&] {
    for (std::size_t frame = 0; frame < queries_.size(); ++frame) {
      expect_equal(matcher.match(queries_[frame].view(), pools_[frame].references),
                   expected_[frame]);
    }
  };
  once();
  ledger.forbid_allocations(true);
  once();
}

}  // namespace
}  // namespace skyfix
