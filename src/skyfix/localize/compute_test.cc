#include "skyfix/localize/compute.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/memory/cuda_library.h"

namespace skyfix {
namespace {

using ::testing::HasSubstr;

Error refusal_of(const ComputeOptions& options) {
  try {
    open_compute(options);
  } catch (const Error& error) {
    return error;
  }
  return Error(Reason::internal, "nothing was refused");
}

TEST(OpenCompute, TheCpuNeedsNoDevice) {
  ComputeOptions options;
  options.device = "cpu";
  const Compute compute = open_compute(options);
  EXPECT_EQ(compute.context().ledger, nullptr);
  EXPECT_EQ(compute.matcher->device(), DeviceKind::cpu);
  EXPECT_TRUE(compute.notes.empty());
}

TEST(OpenCompute, WithoutAGpuAutoIsTheCpuAndABudgetIsNotSilentlyDropped) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "this machine has a GPU";
  ComputeOptions options;
  options.gpu_bytes = std::uint64_t{8} << 30;
  const Compute compute = open_compute(options);
  EXPECT_EQ(compute.matcher->device(), DeviceKind::cpu);
  EXPECT_THAT(compute.notes, ::testing::ElementsAre(HasSubstr("--gpu-memory has no effect")));
  options.device = "cuda";
  EXPECT_EQ(refusal_of(options).reason(), Reason::no_gpu);
}

TEST(OpenCompute, AGpuHasTheBudgetLessItsContextAsItsCap) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << why_no_gpu();
  ComputeOptions options;
  options.device = "cuda";
  options.gpu_bytes = std::uint64_t{8} << 30;
  {
    const Compute compute = open_compute(options);
    EXPECT_EQ(compute.matcher->device(), DeviceKind::cuda);
    EXPECT_LT(compute.device->figures().cap_bytes, compute.budget_bytes);
    EXPECT_GT(compute.device->figures().cap_bytes, compute.budget_bytes - (std::uint64_t{2} << 30));
  }
  options.gpu_bytes = std::uint64_t{100} << 40;
  EXPECT_THAT(refusal_of(options).message(), HasSubstr("--gpu-memory"));
  options.gpu_bytes = 1 << 20;
  EXPECT_THAT(refusal_of(options).message(), HasSubstr("--gpu-memory"));
}

TEST(OpenCompute, TheStandInHasTheCapThatWasAskedFor) {
  ComputeOptions options;
  options.device = "host";
  options.gpu_bytes = 1 << 20;
  options.faults.nth = 1;
  const Compute compute = open_compute(options);
  EXPECT_EQ(compute.device->figures().cap_bytes, 1u << 20);
  EXPECT_EQ(compute.budget_bytes, 1u << 20);
  EXPECT_THROW(compute.ledger->allocate(1, "test"), OutOfDeviceMemory);
  EXPECT_EQ(compute.context().ledger, compute.ledger.get());
}

TEST(OpenCompute, RefusesByName) {
  ComputeOptions options;
  options.device = "tpu";
  EXPECT_EQ(refusal_of(options).reason(), Reason::bad_option);
  EXPECT_THAT(refusal_of(options).message(), HasSubstr("--device is 'tpu'"));
  options.device = "cpu";
  options.faults.probability = 0.1;
  EXPECT_THAT(refusal_of(options).message(), HasSubstr("--inject-allocation-failures"));
}

TEST(OpenCompute, PlansTheMatchingForTheRunsShapes) {
  ComputeOptions options;
  options.device = "host";
  options.shape = LocalizeRequest{.width = 4000, .height = 3000, .frames = 10};
  for (const auto& [mib, fits, cut] :
       {std::tuple{1024, true, false}, {100, true, true}, {1, false, true}}) {
    options.gpu_bytes = std::uint64_t(mib) << 20;
    const Compute compute = open_compute(options);
    ASSERT_TRUE(compute.plan.has_value());
    EXPECT_EQ(compute.plan->plan.fits, fits) << mib;
    const LocalizeSettings& settings = compute.plan->settings;
    EXPECT_EQ(settings.match_chunk < settings.query_rows || settings.match_batch < 15, cut) << mib;
    EXPECT_THAT(compute.notes, ::testing::Contains(HasSubstr("plan: ")));
  }
  options.cached_references = 2;
  options.gpu_bytes = std::uint64_t{1} << 30;
  EXPECT_EQ(open_compute(options).plan->settings.ref_cache_frames, 2);
}

TEST(ReferenceCacheLimits, EightOrFourOrWhatIsAsked) {
  const std::uint64_t gib = std::uint64_t{1} << 30;
  EXPECT_EQ(reference_cache_limits({}, 0, 0).entries, 8u);
  EXPECT_EQ(reference_cache_limits({}, 8 * gib + 1, 7 * gib).entries, 8u);
  EXPECT_EQ(reference_cache_limits({}, 8 * gib, 7 * gib).entries, 4u);
  EXPECT_EQ(reference_cache_limits(20, gib, gib).entries, 20u);
  EXPECT_EQ(reference_cache_limits(20, gib, gib).bytes, gib / 2);
  EXPECT_EQ(reference_cache_limits(0, 0, 0).bytes, 0u);
}

TEST(RequireHostMemory, RefusesWhatCannotBeKept) {
  EXPECT_THROW(require_host_memory(1 << 20, 1, 1, 3200), Error) << "the test itself holds more";
  EXPECT_NO_THROW(require_host_memory(std::uint64_t{64} << 30, 4000, 3000, 3200));
  try {
    require_host_memory(std::uint64_t{1} << 30, 4000, 3000, 3200);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_THAT(error.message(), HasSubstr("--host-memory is 1.00 GiB"));
  }
}

}  // namespace
}  // namespace skyfix
