// Whatever allocation fails, the matches are those of a machine with memory to spare.
#include <gmock/gmock.h>

#include "skyfix/match/pool_testing.h"

namespace skyfix {
namespace {

using testing::Descriptors;
using testing::expect_equal;
using testing::HostMatcher;
using testing::match_on_cpu;
using testing::random_pool;
using testing::random_query;
using testing::TestPool;

class PoolMatcherFaults : public ::testing::Test {
 protected:
  // A small run: four frames over a moving window of references.
  PoolMatcherFaults() {
    std::mt19937 random(51);
    for (int frame = 0; frame < 4; ++frame) {
      queries_.push_back(random_query(40 + 5 * frame, 24, random));
      pools_.push_back(random_pool(5, 25, 24, random, 2 * frame));
      // Equal keys mean equal rows.
      for (int shared = 0; frame > 0 && shared < 3; ++shared) {
        pools_[frame].references[shared] = pools_[frame - 1].references[shared + 2];
      }
      expected_.push_back(match_on_cpu(queries_.back(), pools_.back()));
    }
    options_.reference_cache = {std::uint64_t{1} << 30, 3};
    options_.chunk_rows = 16;
    options_.batch = 2;
  }

  // Returns the retries of all frames.
  int run(HostMatcher& on) {
    int retries = 0;
    for (std::size_t frame = 0; frame < queries_.size(); ++frame) {
      const PoolMatches found = on.matcher.match(queries_[frame].view(), pools_[frame].references);
      expect_equal(found, expected_[frame]);
      retries += static_cast<int>(found.retries.events.size());
      last_ = found.retries;
    }
    return retries;
  }

  std::vector<Descriptors> queries_;
  std::deque<TestPool> pools_;
  std::vector<PoolMatches> expected_;
  PoolMatcherOptions options_;
  RetryReport last_;
};

TEST_F(PoolMatcherFaults, EveryAllocationInTurn) {
  HostMatcher whole(options_);
  ASSERT_EQ(run(whole), 0);
  const std::uint64_t count = whole.ledger.faults().seen();
  ASSERT_GT(count, 8u);
  for (std::uint64_t n = 1; n <= count; ++n) {
    HostMatcher on(options_, {.nth = n});
    EXPECT_EQ(run(on), 1) << n;
    EXPECT_EQ(on.ledger.faults().injected(), 1u) << n;
  }
}

TEST_F(PoolMatcherFaults, EveryAllocationAboveASize) {
  for (const std::uint64_t above : {500, 1000, 2000, 3000, 5000, 10000}) {
    HostMatcher on(options_, {.above_bytes = above});
    const int retries = run(on);
    EXPECT_EQ(retries == 0, on.ledger.faults().injected() == 0) << above;
  }
  HostMatcher on(options_, {.above_bytes = 500});
  EXPECT_GT(run(on), 4);
}

TEST_F(PoolMatcherFaults, EveryAllocationEndsOnTheCpu) {
  HostMatcher on(options_, {.above_bytes = 0});
  run(on);
  EXPECT_TRUE(last_.effort.on_cpu);
  EXPECT_EQ(last_.events.back().step, RetryStep::cpu);
  EXPECT_EQ(last_.events.back().owner, kMatcherOwner);
  EXPECT_EQ(on.ledger.figures().bytes, 0u) << "nothing is left behind";
}

TEST_F(PoolMatcherFaults, AnyAllocationByChance) {
  for (const double probability : {0.01, 0.05, 0.2, 0.5}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      HostMatcher on(options_, {.probability = probability, .seed = seed});
      const int retries = run(on);
      EXPECT_EQ(static_cast<std::uint64_t>(retries), on.ledger.faults().injected());
    }
  }
}

TEST_F(PoolMatcherFaults, ATightCap) {
  for (const std::uint64_t cap : {256, 2048, 4096, 6000, 8192, 12000, 16384, 32768}) {
    HostMatcher on(options_, {}, cap);
    const int retries = run(on);
    EXPECT_LE(on.ledger.figures().device.peak_reserved_bytes, cap);
    if (cap == 256) {
      EXPECT_TRUE(last_.effort.on_cpu);
    }
    if (cap == 32768) {
      EXPECT_EQ(retries, 0);
    }
  }
}

TEST_F(PoolMatcherFaults, SmallerPiecesHelpWhereTheWholeDoesNotFit) {
  options_.chunk_rows = 0;
  options_.batch = 0;
  options_.reference_cache = {};
  // A chunk of 1 query row and a batch of one reference, but not of all.
  HostMatcher on(options_, {}, 6000);
  run(on);
  EXPECT_FALSE(last_.effort.on_cpu);
  EXPECT_LT(last_.effort.batch_scale, 1);
  EXPECT_THAT(last_.given_up(), ::testing::HasSubstr("half_chunk, smaller_batch"));
}

// With a cache limit that the device cannot keep beside the frame, the cache gives way: no smaller
// pieces are needed for it.
TEST_F(PoolMatcherFaults, TheCacheGivesWayToTheFrame) {
  options_.chunk_rows = 0;
  options_.batch = 1;
  options_.reference_cache = {std::uint64_t{1} << 30};
  HostMatcher on(options_, {}, 16384);  // five references take some 13,000 bytes
  EXPECT_GT(run(on), 0);
  EXPECT_EQ(last_.effort.chunk_scale, 1);
  EXPECT_EQ(last_.given_up(), "release_cache");
}

// A device that breaks: no shortage of memory, so nothing is tried again.
class BrokenKernels : public MatchKernels {
 public:
  void check_rows(const DeviceRows&, float*) override { throw DeviceFailure("fell off the bus"); }
  void clear_keys(MatchKey*, std::int64_t) override {}
  void accumulate(std::span<const MatchWork>) override {}
  void decode(MatchKey*, float*, std::int64_t) override {}
  void keep_mutual(const MutualWork&) override {}
  void runner_up(const DeviceRows&, const std::int64_t*, const std::uint32_t*, std::int64_t,
                 const DeviceRows&, const std::uint32_t*, float*) override {}
};

TEST_F(PoolMatcherFaults, OtherFailuresPassThrough) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  BrokenKernels kernels;
  PoolMatcher matcher(ledger, kernels, options_);
  EXPECT_THROW(matcher.match(queries_[0].view(), pools_[0].references), DeviceFailure);
}

// Memory may run out inside the kernels too (lazily loaded modules); nothing was allocated then.
class ShortKernels : public MatchKernels {
 public:
  void check_rows(const DeviceRows& rows, float* bias) override { real_->check_rows(rows, bias); }
  void clear_keys(MatchKey* keys, std::int64_t n) override { real_->clear_keys(keys, n); }
  void accumulate(std::span<const MatchWork> work) override {
    real_->accumulate(work.first(1));  // part of the keys are updated already
    fail_once(1);
    real_->accumulate(work.subspan(1));
  }
  void decode(MatchKey* k, float* s, std::int64_t n) override { real_->decode(k, s, n); }
  void keep_mutual(const MutualWork& work) override { real_->keep_mutual(work); }
  void runner_up(const DeviceRows& query, const std::int64_t* listed, const std::uint32_t* own,
                 std::int64_t count, const DeviceRows& map, const std::uint32_t* group,
                 float* best) override {
    real_->runner_up(query, listed, own, count, map, group, best);
    fail_once(2);
  }

 private:
  void fail_once(int call) {
    if (next_ != call) return;
    ++next_;
    throw OutOfDeviceMemory(MemoryFailure::module_loading, 0, "kernels");
  }
  std::unique_ptr<MatchKernels> real_ = make_host_match_kernels();
  int next_ = 1;
};

TEST_F(PoolMatcherFaults, KernelsThatRunOutOfMemoryHalfWay) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  ShortKernels kernels;
  PoolMatcher matcher(ledger, kernels, options_);
  const PoolMatches found = matcher.match(queries_[0].view(), pools_[0].references);
  expect_equal(found, expected_[0]);
  ASSERT_EQ(found.retries.events.size(), 2u);
  EXPECT_EQ(found.retries.events[1].failure, MemoryFailure::module_loading);
}

}  // namespace
}  // namespace skyfix
