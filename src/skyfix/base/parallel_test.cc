#include "skyfix/base/parallel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace skyfix {
namespace {

// Every test runs with one thread and with several.
class ParallelTest : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(0); }
};
INSTANTIATE_TEST_SUITE_P(Threads, ParallelTest, testing::Values(1, 2, 5));

TEST_P(ParallelTest, EveryIndexIsVisitedOnce) {
  for (const std::size_t count : {0u, 1u, 7u, 1000u}) {
    for (const std::size_t grain : {std::size_t{0}, std::size_t{1}, std::size_t{3},
                                    std::size_t{1000}, std::numeric_limits<std::size_t>::max()}) {
      std::vector<std::atomic<int>> visits(count);
      parallel_for(count, grain, [&](std::size_t begin, std::size_t end) {
        EXPECT_LT(begin, end);
        EXPECT_LE(end - begin, std::max<std::size_t>(grain, 1));
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      for (const auto& visit : visits) EXPECT_EQ(visit, 1) << count << " by " << grain;
    }
  }
}

TEST_P(ParallelTest, TheLowestFailureIsThrown) {
  for (int round = 0; round < 20; ++round) {
    try {
      parallel_for(100, 1, [](std::size_t begin, std::size_t) {
        if (begin % 30 == 17) throw std::runtime_error(std::to_string(begin));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "17");
    }
  }
}

TEST_P(ParallelTest, WorksAgainAfterAFailure) {
  EXPECT_THROW(parallel_for(10, 1, [](auto, auto) { throw std::runtime_error("x"); }),
               std::runtime_error);
  std::atomic<std::size_t> sum{0};
  parallel_for(10, 1, [&](std::size_t begin, std::size_t) { sum += begin; });
  EXPECT_EQ(sum, 45);
}

TEST_P(ParallelTest, NestedCallsStayInTheirThread) {
  std::atomic<int> strays{0};
  std::atomic<int> visits{0};
  parallel_for(8, 1, [&](std::size_t, std::size_t) {
    const auto self = std::this_thread::get_id();
    parallel_for(50, 1, [&](std::size_t, std::size_t) {
      ++visits;
      if (std::this_thread::get_id() != self) ++strays;
    });
  });
  EXPECT_EQ(visits, 400);
  if (GetParam() > 1) {
    EXPECT_EQ(strays, 0);
  }
}

TEST_P(ParallelTest, CallsFromSeveralThreadsDoNotMix) {
  std::vector<std::thread> callers;
  std::vector<std::atomic<int>> visits(4);
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([caller, &visits] {
      for (int round = 0; round < 20; ++round) {
        parallel_for(25, 2, [&](std::size_t begin, std::size_t end) {
          visits[caller] += static_cast<int>(end - begin);
        });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& visit : visits) EXPECT_EQ(visit, 500);
}

TEST(Parallel, UsesAsManyThreadsAsAsked) {
  set_thread_count(3);
  EXPECT_EQ(thread_count(), 3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> inside{0};
  // Three ranges that wait for each other: finished only if three threads are at work.
  parallel_for(3, 1, [&](std::size_t, std::size_t) {
    ++inside;
    while (inside < 3) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 3);
  set_thread_count(0);
  EXPECT_EQ(thread_count(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace skyfix
