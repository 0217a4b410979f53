#include "bench/overlap.h"

#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace skyfix::bench {
namespace {

using ::testing::ElementsAre;

std::int64_t square(std::int64_t i) { return i * i; }

TEST(Overlap, EachStageSeesEveryFrameInOrder) {
  std::vector<std::int64_t> seen, found;
  overlap_stages(
      5, square,
      [&](std::int64_t i, std::int64_t value) {
        seen.push_back(i);
        return value + 1;
      },
      [&](std::int64_t, std::int64_t value) { found.push_back(value); });
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(found, ElementsAre(1, 2, 5, 10, 17));
}

// The third stage waits until the first has begun a later frame: one after the other would hang.
TEST(Overlap, StagesRunAtOnce) {
  std::atomic<std::int64_t> begun{0};
  overlap_stages(
      3,
      [&](std::int64_t i) {
        begun = i + 1;
        begun.notify_all();
        return i;
      },
      [](std::int64_t, std::int64_t value) { return value; },
      [&](std::int64_t i, std::int64_t) {
        for (std::int64_t now = begun; i < 2 && now < i + 2; now = begun) begun.wait(now);
      });
  EXPECT_EQ(begun, 3);
}

TEST(Overlap, NoStageRunsFarAhead) {
  std::atomic<std::int64_t> begun{0}, done{0}, farthest{0};
  overlap_stages(
      50,
      [&](std::int64_t i) {
        farthest = std::max<std::int64_t>(farthest, i - done);
        return ++begun;
      },
      [](std::int64_t, std::int64_t value) { return value; },
      [&](std::int64_t, std::int64_t) { ++done; }, /*ahead=*/1);
  EXPECT_EQ(done, 50);
  EXPECT_LE(farthest, 5);  // one waiting in each queue, one in each stage
}

TEST(Overlap, WhatAStageThrowsStopsAll) {
  for (int broken = 0; broken < 3; ++broken) {
    const auto stage = [broken](int number) {
      return [=](std::int64_t i, auto...) {
        if (number == broken && i == 4) throw std::runtime_error("stage " + std::to_string(number));
        return i;
      };
    };
    try {
      overlap_stages(1000, stage(0), stage(1), stage(2));
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "stage " + std::to_string(broken));
    }
  }
}

TEST(Overlap, NoFramesAreNoWork) {
  overlap_stages(
      0, square, [](std::int64_t, std::int64_t value) { return value; },
      [](std::int64_t, std::int64_t) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace skyfix::bench
