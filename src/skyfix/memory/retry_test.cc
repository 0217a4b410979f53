#include "skyfix/memory/retry.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace skyfix {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Notes when it is released, and gives what it is told to.
class NotedCache : public ReleasableCache {
 public:
  NotedCache(std::string name, double cost_ms, std::uint64_t bytes, std::vector<std::string>& log)
      : name_(std::move(name)), cost_ms_(cost_ms), bytes_(bytes), log_(log) {}
  double rebuild_cost_ms() const override { return cost_ms_; }
  std::uint64_t release_unpinned() override {
    if (bytes_ > 0) log_.push_back(name_);
    return std::exchange(bytes_, 0);
  }
  void fill(std::uint64_t bytes) { bytes_ = bytes; }

 private:
  std::string name_;
  double cost_ms_;
  std::uint64_t bytes_;
  std::vector<std::string>& log_;
};

OutOfDeviceMemory failure() {
  return OutOfDeviceMemory(MemoryFailure::library_workspace, 77, "head");
}

std::vector<RetryStep> steps(const RetryReport& report) {
  std::vector<RetryStep> steps;
  for (const RetryEvent& event : report.events) steps.push_back(event.step);
  return steps;
}

constexpr std::array kSteps = {RetryStep::release_cache,  RetryStep::trim,
                               RetryStep::half_chunk,     RetryStep::smaller_batch,
                               RetryStep::less_on_device, RetryStep::cpu};

class RetryLadderTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = make_host_device();
  std::vector<std::string> log_;
  RetryReport report_;
};

TEST(RetryStep, NamesAndClasses) {
  std::set<std::string_view> names;
  for (const RetryStep step : kSteps) {
    names.insert(retry_step_name(step));
    const bool same_batch = step == RetryStep::release_cache || step == RetryStep::trim ||
                            step == RetryStep::half_chunk;
    EXPECT_EQ(retry_step_is_bit_equal_for_networks(step), same_batch) << retry_step_name(step);
  }
  EXPECT_EQ(names.size(), kSteps.size());
  EXPECT_FALSE(names.contains("unknown"));
}

TEST_F(RetryLadderTest, WithoutAFailureNothingIsGivenUp) {
  NotedCache cache("a", 1, 10, log_);
  RetryLadder ladder(*device_, {&cache});
  report_.events.resize(3);  // of the frame before
  report_.effort.on_cpu = true;
  EXPECT_EQ(ladder.run(report_, [](const Effort& effort) { return effort == Effort{} ? 5 : 0; }),
            5);
  EXPECT_THAT(report_.events, IsEmpty());
  EXPECT_EQ(report_.given_up(), "");
  EXPECT_THAT(log_, IsEmpty());
}

// A work that fails until it may no longer use the device sees every effort once, in order.
TEST_F(RetryLadderTest, EveryStepIsTakenInOrder) {
  NotedCache dear("dear", 9, 10, log_), empty("empty", 1, 0, log_), cheap("cheap", 2, 10, log_),
      equal("equal", 2, 10, log_);
  RetryLadder ladder(*device_, {&dear, &empty, &cheap, &equal}, {1.0 / 4, 1.0 / 2});
  std::vector<Effort> efforts;
  ladder.run(report_, [&](const Effort& effort) {
    efforts.push_back(effort);
    if (!effort.on_cpu) throw failure();
  });
  EXPECT_THAT(log_, ElementsAre("cheap", "equal", "dear"));
  using enum RetryStep;
  EXPECT_THAT(steps(report_),
              ElementsAre(release_cache, release_cache, release_cache, trim, half_chunk, half_chunk,
                          smaller_batch, less_on_device, cpu));
  const std::vector<Effort> expected = {{},
                                        {},
                                        {},
                                        {},
                                        {},
                                        {1.0 / 2, 1, false, false},
                                        {1.0 / 4, 1},
                                        {1.0 / 4, .5},
                                        {1.0 / 4, .5, true, false},
                                        {1.0 / 4, .5, true, true}};
  EXPECT_EQ(efforts, expected);
  EXPECT_EQ(report_.effort, expected.back());
  EXPECT_EQ(report_.given_up(),
            "release_cache, trim, half_chunk, smaller_batch, less_on_device, cpu");
  for (const RetryEvent& event : report_.events) {
    EXPECT_EQ(event.failure, MemoryFailure::library_workspace);
    EXPECT_EQ(event.owner, "head");
    EXPECT_EQ(event.bytes, 77);
  }
}

// Wherever the work begins to succeed, the climb stops, and the result is passed on.
TEST_F(RetryLadderTest, TheClimbStopsWhereTheWorkSucceeds) {
  std::size_t longest = 0;
  RetryLadder(*device_, {}).run(report_, [&](const Effort& effort) {
    ++longest;
    if (!effort.on_cpu) throw failure();
  });
  ASSERT_EQ(longest, 1 + 1 + 6 + 6 + 1 + 1);
  const std::vector<RetryStep> all = steps(report_);
  for (std::size_t failures = 0; failures < longest; ++failures) {
    std::size_t calls = 0;
    RetryLadder ladder(*device_, {});
    const std::size_t result = ladder.run(report_, [&](const Effort&) {
      if (calls++ < failures) throw failure();
      return calls;
    });
    EXPECT_EQ(result, failures + 1);
    EXPECT_TRUE(
        std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(failures),
                   report_.events.begin(), report_.events.end(),
                   [](RetryStep step, const RetryEvent& event) { return step == event.step; }));
  }
}

TEST_F(RetryLadderTest, ScalesOfOneLeaveTheirStepsOut) {
  RetryLadder ladder(*device_, {}, {1, 1});
  ladder.run(report_, [](const Effort& effort) {
    if (!effort.on_cpu) throw failure();
  });
  EXPECT_EQ(report_.given_up(), "trim, less_on_device, cpu");
}

TEST_F(RetryLadderTest, AFailureOnTheCpuIsPassedOn) {
  RetryLadder ladder(*device_, {}, {1, 1});
  EXPECT_THROW(ladder.run(report_, [](const Effort&) { throw failure(); }), OutOfDeviceMemory);
  EXPECT_EQ(report_.given_up(), "trim, less_on_device, cpu");
}

TEST_F(RetryLadderTest, OtherExceptionsPassAtOnce) {
  NotedCache cache("a", 1, 10, log_);
  RetryLadder ladder(*device_, {&cache});
  EXPECT_THROW(ladder.run(report_, [](const Effort&) { throw DeviceFailure("bad address"); }),
               DeviceFailure);
  EXPECT_THROW(ladder.run(report_, [](const Effort&) { throw std::bad_alloc(); }), std::bad_alloc);
  EXPECT_THROW(ladder.run(report_, [](const Effort&) { throw std::logic_error("x"); }),
               std::logic_error);
  EXPECT_THAT(report_.events, IsEmpty());
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(RetryLadderTest, EveryStepGivesBlocksBack) {
  RetryLadder ladder(*device_, {});
  std::size_t calls = 0;
  ladder.run(report_, [&](const Effort& effort) {
    EXPECT_EQ(device_->figures().reserved_bytes, 0) << "call " << calls;
    ++calls;
    device_->release(device_->allocate(1000));
    if (!effort.on_cpu) throw failure();
  });
  EXPECT_EQ(calls, report_.events.size() + 1);
}

TEST_F(RetryLadderTest, CachesFilledAgainByAnAttemptAreGivenUpAgain) {
  NotedCache cache("a", 1, 10, log_);
  RetryLadder ladder(*device_, {&cache}, {1.0 / 2, 1});
  ladder.run(report_, [&](const Effort& effort) {
    cache.fill(10);
    if (effort.chunk_scale == 1) throw failure();
  });
  EXPECT_EQ(report_.given_up(), "release_cache, trim, half_chunk");
  EXPECT_THAT(log_, ElementsAre("a", "a", "a")) << "once for each step";
}

TEST_F(RetryLadderTest, WhatTheFailedAttemptHeldIsFreeBeforeTheNext) {
  const auto device = make_host_device(4096);
  Ledger ledger(*device);
  BoundedCache<int, DeviceBuffer> cache({.bytes = 2048});
  RetryLadder ladder(*device, {&cache});
  cache.insert(1, ledger.allocate(2048, "cache"), 2048);
  ladder.run(report_, [&](const Effort&) {
    const auto pinned = cache.find(1);  // let go while the failure is on its way out
    const DeviceBuffer work = ledger.allocate(2048, "work");
    const DeviceBuffer more = ledger.allocate(pinned ? 1024 : 2048, "work");
  });
  EXPECT_EQ(report_.given_up(), "release_cache");
  EXPECT_EQ(ledger.figures().bytes, 0);
}

}  // namespace
}  // namespace skyfix
