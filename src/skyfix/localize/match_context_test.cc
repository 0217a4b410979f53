#include "skyfix/localize/match_context.h"

#include <gtest/gtest.h>

namespace skyfix {
namespace {

TEST(FrameMemory, OnTheCpuThereIsNothingToTell) {
  PoolMatcher matcher;
  const MatchContext context{matcher};
  FixTelemetry telemetry;
  FrameMemory(context).write(telemetry);
  EXPECT_EQ(telemetry.device, "cpu");
  EXPECT_FALSE(telemetry.peaks.has_value());
}

TEST(FrameMemory, PeaksAndHitsAreTheFramesOwn) {
  const auto device = make_host_device();
  Ledger ledger(*device);
  const auto kernels = make_host_match_kernels();
  PoolMatcherOptions options;
  options.reference_cache = {1 << 20};
  PoolMatcher matcher(ledger, *kernels, options);
  const MatchContext context{matcher, &ledger};
  const std::vector<float> rows(64 * 3, 1.0f);
  const std::vector<std::uint32_t> group(64, 1);
  const PoolReference reference{1, {rows.data(), 64, 3}, group};
  { const DeviceBuffer large = ledger.allocate(8 << 20, "before"); }

  for (int frame = 0; frame < 2; ++frame) {
    const FrameMemory memory(context);
    matcher.match({rows.data(), 64, 3}, {&reference, 1});
    FixTelemetry telemetry;
    memory.write(telemetry);
    EXPECT_EQ(telemetry.reference_hits, frame);
    EXPECT_EQ(telemetry.reference_misses, 1 - frame);
    ASSERT_TRUE(telemetry.peaks.has_value());
    EXPECT_GT(telemetry.peaks->booked_mib, 0);
    EXPECT_LT(telemetry.peaks->booked_mib, 1) << "not what was there before the frame";
    EXPECT_GE(telemetry.peaks->reserved_mib, 8);
    double sum = 0;
    for (const auto& [owner, mib] : telemetry.peaks->by_owner_mib) sum += mib;
    EXPECT_DOUBLE_EQ(sum, telemetry.peaks->booked_mib);
    EXPECT_GT(telemetry.peaks->by_owner_mib.at(std::string(kReferenceOwner)), 0);
  }
}

TEST(NoteRetries, AddsUp) {
  FixTelemetry telemetry;
  note_retries({}, true, telemetry);
  EXPECT_EQ(telemetry.memory_retries, 0);
  EXPECT_EQ(telemetry.memory_given_up, "");
  RetryReport retries;
  retries.events.resize(3);
  retries.events[1].step = retries.events[2].step = RetryStep::half_chunk;
  note_retries(retries, false, telemetry);
  EXPECT_EQ(telemetry.memory_retries, 3);
  EXPECT_EQ(telemetry.memory_given_up, "trim, half_chunk");
  retries.events.resize(1);
  retries.events[0].step = RetryStep::cpu;
  note_retries(retries, false, telemetry);
  EXPECT_EQ(telemetry.memory_retries, 4);
  EXPECT_EQ(telemetry.numerics, "equal");  // the exact matcher's are, whatever was done
  EXPECT_EQ(telemetry.memory_given_up, "trim, half_chunk, cpu");
}

TEST(NoteRetries, ANetworkThatEndedOnTheCpuIsEquivalentOnly) {
  RetryReport retries;
  retries.events.resize(2);  // trim, trim
  FixTelemetry telemetry;
  note_retries(retries, true, telemetry);
  EXPECT_EQ(telemetry.numerics, "equal");
  retries.events[1].step = RetryStep::cpu;
  note_retries(retries, true, telemetry);
  EXPECT_EQ(telemetry.numerics, "equivalent");
}

}  // namespace
}  // namespace skyfix
