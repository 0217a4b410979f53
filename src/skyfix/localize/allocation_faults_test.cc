// Whatever device allocation fails, every frame has the fix of a run with memory to spare.
#include <gmock/gmock.h>

#include "skyfix/localize/compute.h"
#include "skyfix/localize/runner.h"
#include "skyfix/localize/world_testing.h"

namespace skyfix {
namespace {

class AllocationFaults : public ::testing::Test {
 protected:
  AllocationFaults() { photos_.resize(2); }

  std::vector<Fix> run(Compute& compute) {
    const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache_, compute.context());
    std::vector<Fix> fixes;
    NoProgress quiet;
    const std::atomic<bool> cancel{false};
    run_batch(
        localizer, photos_, {}, [&](const Fix& fix) { fixes.push_back(fix); }, quiet, cancel);
    return fixes;
  }
  std::vector<Fix> run(const ComputeOptions& options) {
    Compute compute = open_compute(options);
    return run(compute);
  }

  DescriptorCache cache_{{}, "", ""};
  std::vector<InputPhoto> photos_ = SmallWorld::instance().queries().photos;
};

int retries_of(const std::vector<Fix>& fixes) {
  int retries = 0;
  for (const Fix& fix : fixes) retries += fix.telemetry.memory_retries;
  return retries;
}

// Everything that a record says of them but the telemetry.
void expect_same(const std::vector<Fix>& found, const std::vector<Fix>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Fix& a = found[i];
    const Fix& b = expected[i];
    ASSERT_EQ(a.status, FixStatus::ok) << a.reason_text;
    ASSERT_EQ(b.status, FixStatus::ok);
    EXPECT_EQ(a.pose->cam_from_world.translation, b.pose->cam_from_world.translation);
    EXPECT_EQ(a.pose->cam_from_world.rotation.coeffs(), b.pose->cam_from_world.rotation.coeffs());
    EXPECT_EQ(*a.pose->covariance_map, *b.pose->covariance_map);
    EXPECT_EQ(a.inliers, b.inliers);
    EXPECT_EQ(a.matches, b.matches);
    EXPECT_EQ(a.coverage, b.coverage);
    EXPECT_EQ(a.reprojection_px, b.reprojection_px);
    EXPECT_EQ(a.log10_false_alarms, b.log10_false_alarms);
    ASSERT_EQ(a.retrieval.candidates.size(), b.retrieval.candidates.size());
    for (std::size_t k = 0; k < a.retrieval.candidates.size(); ++k) {
      EXPECT_EQ(a.retrieval.candidates[k].matches, b.retrieval.candidates[k].matches);
      EXPECT_EQ(a.retrieval.candidates[k].inliers, b.retrieval.candidates[k].inliers);
    }
    EXPECT_EQ(a.telemetry.numerics, "equal");
  }
}

TEST_F(AllocationFaults, EveryOneInTurn) {
  const std::vector<Fix> expected = run(ComputeOptions{});
  EXPECT_FALSE(expected[0].telemetry.peaks.has_value());
  ComputeOptions options;
  options.device = "host";
  options.cached_references = 4;
  Compute whole = open_compute(options);
  const std::vector<Fix> undisturbed = run(whole);
  expect_same(undisturbed, expected);
  EXPECT_EQ(retries_of(undisturbed), 0);
  EXPECT_GT(undisturbed[1].telemetry.reference_hits, 0);
  const std::uint64_t count = whole.ledger->faults().seen();
  RecordProperty("allocations", static_cast<int>(count));
  ASSERT_GE(count, 7u);
  for (std::uint64_t n = 1; n <= count; ++n) {
    SCOPED_TRACE(n);
    options.faults = {};
    options.faults.nth = n;
    const std::vector<Fix> found = run(options);
    expect_same(found, expected);
    EXPECT_EQ(retries_of(found), 1);
    for (const Fix& fix : found) {
      EXPECT_EQ(fix.telemetry.memory_given_up.empty(), fix.telemetry.memory_retries == 0);
    }
  }
}

TEST_F(AllocationFaults, ByChanceAndUnderACapForNothing) {
  const std::vector<Fix> expected = run(ComputeOptions{});
  ComputeOptions options;
  options.device = "host";
  options.faults.probability = 0.3;
  const std::vector<Fix> by_chance = run(options);
  expect_same(by_chance, expected);
  EXPECT_GT(retries_of(by_chance), 0);

  options = {};
  options.device = "host";
  options.gpu_bytes = 4096;
  const std::vector<Fix> on_cpu = run(options);
  expect_same(on_cpu, expected);
  EXPECT_THAT(on_cpu[0].telemetry.memory_given_up, ::testing::EndsWith("cpu"));
}

TEST_F(AllocationFaults, ForbiddenAllocationsEndTheRunAtOnce) {
  ComputeOptions options;
  options.device = "host";
  Compute compute = open_compute(options);
  compute.ledger->forbid_allocations(true);
  EXPECT_THROW(run(compute), AllocationForbidden);
}

}  // namespace
}  // namespace skyfix
