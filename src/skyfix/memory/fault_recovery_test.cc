// Ledger, cache, ladder and faults together, on a work like localize in small: whichever allocation
// fails, every frame finishes, with the same result.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "skyfix/memory/bounded_cache.h"
#include "skyfix/memory/ledger.h"
#include "skyfix/memory/retry.h"

namespace skyfix {
namespace {

constexpr int kFrames = 6;
constexpr int kReferences = 3;  // of each frame; neighbours share two
constexpr int kPoints = 200;
constexpr int kRows = 256;

using Numbers = std::vector<std::int64_t>;

Numbers reference_points(int reference) {
  Numbers points(kPoints);
  for (int i = 0; i < kPoints; ++i) points[i] = (reference * 7919 + i * 104729) % 1009;
  return points;
}

// For each row the point that it is nearest to, and that over all references.
class SmallWork {
 public:
  SmallWork(Ledger& ledger, std::uint64_t cache_bytes)
      : ledger_(ledger), cache_({.bytes = cache_bytes}), ladder_(ledger.device(), {&cache_}) {}

  Numbers frame(int frame, RetryReport& report) {
    return ladder_.run(report, [&](const Effort& effort) { return attempt(frame, effort); });
  }

 private:
  using References = BoundedCache<int, DeviceBuffer>;

  Numbers attempt(int frame, const Effort& effort) {
    Numbers sums(kRows, 0);
    for (int reference = frame; reference < frame + kReferences; ++reference) {
      if (effort.on_cpu) {
        match(frame, 0, kRows, reference_points(reference).data(), sums.data());
      } else {
        match_on_device(frame, *load(reference), effort, sums);
      }
    }
    return sums;
  }

  References::Handle load(int reference) {
    if (auto found = cache_.find(reference)) return found;
    const std::uint64_t bytes = kPoints * sizeof(std::int64_t);
    cache_.make_room(bytes);
    DeviceBuffer buffer = ledger_.allocate(bytes, "references");
    ledger_.device().upload(buffer.data(), reference_points(reference).data(), bytes);
    return cache_.insert(reference, std::move(buffer), bytes);
  }

  void match_on_device(int frame, const DeviceBuffer& points, const Effort& effort, Numbers& sums) {
    const int rows = std::max(1, static_cast<int>(kRows * effort.chunk_scale));
    for (int begin = 0; begin < kRows; begin += rows) {
      const int count = std::min(rows, kRows - begin);
      const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(std::int64_t);
      const DeviceBuffer chunk = ledger_.allocate(bytes, "matcher");
      ledger_.device().upload(chunk.data(), &sums[begin], bytes);
      match(frame, begin, count, points.as<std::int64_t>(), chunk.as<std::int64_t>());
      ledger_.device().download(&sums[begin], chunk.data(), bytes);
    }
  }

  static void match(int frame, int begin, int count, const std::int64_t* points,
                    std::int64_t* sums) {
    for (int row = 0; row < count; ++row) {
      const std::int64_t value = (frame * 31 + (begin + row) * 613) % 1009;
      int best = 0;
      for (int i = 1; i < kPoints; ++i) {
        if (std::abs(points[i] - value) < std::abs(points[best] - value)) best = i;
      }
      sums[row] = sums[row] * 1009 % 1000003 + best;
    }
  }

  Ledger& ledger_;
  References cache_;
  RetryLadder ladder_;
};

struct Outcome {
  std::vector<Numbers> frames;
  std::vector<RetryReport> reports;
  LedgerFigures figures;
  std::uint64_t seen = 0;
  std::uint64_t injected = 0;

  std::size_t retries() const {
    return std::accumulate(reports.begin(), reports.end(), std::size_t{0},
                           [](std::size_t sum, const auto& r) { return sum + r.events.size(); });
  }
};

Outcome run(const FaultPlan& faults, std::uint64_t cap, std::uint64_t cache_bytes) {
  const auto device = make_host_device(cap);
  Ledger ledger(*device, faults);
  Outcome outcome;
  {
    SmallWork work(ledger, cache_bytes);
    for (int frame = 0; frame < kFrames; ++frame) {
      outcome.reports.emplace_back();
      outcome.frames.push_back(work.frame(frame, outcome.reports.back()));
    }
    outcome.figures = ledger.figures();
  }
  EXPECT_EQ(ledger.figures().bytes, 0);
  EXPECT_EQ(device->figures().allocated_bytes, 0);
  outcome.seen = ledger.faults().seen();
  outcome.injected = ledger.faults().injected();
  return outcome;
}

constexpr std::uint64_t kReferenceBytes = kPoints * sizeof(std::int64_t);
constexpr std::uint64_t kRoomy = 4 * kReferenceBytes;

const Outcome& undisturbed() {
  static const Outcome outcome = run({}, 0, kRoomy);
  return outcome;
}

TEST(FaultRecovery, NothingFailsUndisturbed) {
  EXPECT_EQ(undisturbed().retries(), 0);
  // Each reference is loaded once, each pair is matched in one chunk.
  EXPECT_EQ(undisturbed().seen, kFrames + kReferences - 1 + kFrames * kReferences);
  EXPECT_NE(undisturbed().frames[0], undisturbed().frames[1]);
}

TEST(FaultRecovery, WhicheverAllocationFailsAllFramesAreEqual) {
  for (std::uint64_t n = 1; n <= undisturbed().seen; ++n) {
    const Outcome outcome = run({.nth = n}, 0, kRoomy);
    EXPECT_EQ(outcome.injected, 1) << n;
    EXPECT_EQ(outcome.retries(), 1) << "one fault, one retry: no cascade; fault " << n;
    EXPECT_EQ(outcome.frames, undisturbed().frames) << n;
  }
}

TEST(FaultRecovery, WithoutACacheToo) {
  const Outcome calm = run({}, 0, 0);
  EXPECT_EQ(calm.frames, undisturbed().frames);
  for (std::uint64_t n = 1; n <= calm.seen; ++n) {
    const Outcome outcome = run({.nth = n}, 0, 0);
    EXPECT_EQ(outcome.retries(), 1) << n;
    EXPECT_EQ(outcome.frames, undisturbed().frames) << n;
  }
}

TEST(FaultRecovery, WhateverSizeIsTooLargeAllFramesAreEqual) {
  for (const std::uint64_t above : {1u, 100u, 1000u, 1599u, 1600u, 1800u, 2048u}) {
    const Outcome outcome = run({.above_bytes = above}, 0, kRoomy);
    EXPECT_EQ(outcome.frames, undisturbed().frames) << above;
    // References cannot be made smaller: below their size only the CPU is left.
    for (const RetryReport& report : outcome.reports) {
      EXPECT_EQ(report.effort.on_cpu, above < kReferenceBytes) << above;
    }
  }
}

TEST(FaultRecovery, HoweverOftenItFailsAllFramesAreEqual) {
  for (const double probability : {0.01, 0.1, 0.3, 0.6, 1.0}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const Outcome outcome = run({.probability = probability, .seed = seed}, 0, kRoomy);
      EXPECT_EQ(outcome.frames, undisturbed().frames) << probability << ", seed " << seed;
      EXPECT_EQ(outcome.retries(), outcome.injected) << probability << ", seed " << seed;
    }
  }
}

// The founding fault: a cache that takes the whole device, and work that then has none.
TEST(FaultRecovery, UnderEveryCapAllFramesAreEqual) {
  bool calm = false, released = false, smaller = false, on_cpu = false;
  for (std::uint64_t cap = 256; cap <= 18 * 1024; cap += 256) {
    const Outcome outcome = run({}, cap, UINT64_MAX);
    EXPECT_EQ(outcome.frames, undisturbed().frames) << cap;
    EXPECT_LE(outcome.figures.device.peak_reserved_bytes, cap);
    calm |= outcome.retries() == 0;
    for (const RetryReport& report : outcome.reports) {
      released |= report.given_up() == "release_cache";
      smaller |= report.effort.chunk_scale < 1 && !report.effort.on_cpu;
      on_cpu |= report.effort.on_cpu;
    }
  }
  EXPECT_TRUE(calm && released && smaller && on_cpu) << "the caps reach every rung";
}

TEST(FaultRecovery, AFrameAfterOneOnTheCpuStartsAfresh) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  SmallWork work(ledger, kRoomy);
  RetryReport report;
  device->set_cap(256);
  EXPECT_EQ(work.frame(0, report), undisturbed().frames[0]);
  EXPECT_TRUE(report.effort.on_cpu);
  device->set_cap(0);
  EXPECT_EQ(work.frame(1, report), undisturbed().frames[1]);
  EXPECT_EQ(report.given_up(), "");
  EXPECT_FALSE(report.effort.on_cpu);
}

TEST(FaultRecovery, ThreadsShareDeviceCacheAndLadder) {
  const auto device = make_host_device(9 * 1024);
  Ledger ledger(*device, {.probability = 0.02});
  SmallWork work(ledger, kRoomy);
  std::vector<std::vector<Numbers>> results(4);
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (auto& frames : results) {
    threads.emplace_back([&frames, &work] {
      for (int frame = 0; frame < kFrames; ++frame) {
        RetryReport report;
        frames.push_back(work.frame(frame, report));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& frames : results) EXPECT_EQ(frames, undisturbed().frames);
  EXPECT_LE(device->figures().peak_reserved_bytes, 9 * 1024);
}

}  // namespace
}  // namespace skyfix
