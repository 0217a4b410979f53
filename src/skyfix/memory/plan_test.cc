#include "skyfix/memory/plan.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kGiB = 1ULL << 30;

Budget budget_of(std::uint64_t gpu_bytes) { return resolve_budget({.gpu_bytes = gpu_bytes}, {}); }

std::vector<ComponentNeed> some_needs() {
  return {{.owner = "network", .weights_bytes = kGiB, .host_bytes = 5 * kMiB},
          {.owner = "work", .workspace_bytes = 2 * kGiB},
          {.owner = "cache", .growth_bytes = kMiB, .growth_count = 100}};
}

std::uint64_t of(const Plan& plan, const std::string& owner) {
  for (const ComponentNeed& need : plan.components) {
    if (need.owner == owner) return need.device_bytes();
  }
  return 0;
}

TEST(Plan, ThePeakIsTheContextAndEverything) {
  const Plan plan = make_plan("job", DeviceKind::cuda, budget_of(8 * kGiB), some_needs());
  EXPECT_EQ(plan.components.front().owner, "context and libraries");
  EXPECT_EQ(of(plan, "context and libraries"), kAssumedContextBytes);
  std::uint64_t sum = 0;
  for (const ComponentNeed& need : plan.components) sum += need.device_bytes();
  EXPECT_EQ(plan.peak_bytes, sum);
  EXPECT_TRUE(plan.fits);
}

TEST(Plan, RoundingIsReckonedForWhatComesAndGoes) {
  const Budget expandable = budget_of(8 * kGiB);
  const Plan plan = make_plan("job", DeviceKind::cuda, expandable, some_needs());
  EXPECT_NEAR(of(plan, "allocator rounding"), 0.05 * 2 * kGiB, 1);
  EXPECT_EQ(of(make_plan("job", DeviceKind::cuda, expandable, {}), "allocator rounding"),
            64 * kMiB);
  Budget classic = expandable;
  classic.expandable_segments = false;
  EXPECT_NEAR(of(make_plan("job", DeviceKind::cuda, classic, some_needs()), "allocator rounding"),
              0.12 * (3 * kGiB + 100 * kMiB), 1);
}

TEST(Plan, AByteMoreThanTheBudgetDoesNotFit) {
  const std::uint64_t peak =
      make_plan("job", DeviceKind::cuda, budget_of(8 * kGiB), some_needs()).peak_bytes;
  EXPECT_TRUE(make_plan("job", DeviceKind::cuda, budget_of(peak), some_needs()).fits);
  EXPECT_FALSE(make_plan("job", DeviceKind::cuda, budget_of(peak - 1), some_needs()).fits);
}

TEST(Plan, TheHostBudgetCountsToo) {
  Budget budget = budget_of(8 * kGiB);
  budget.host_bytes = 1 * kGiB;
  EXPECT_TRUE(make_plan("job", DeviceKind::cuda, budget, some_needs()).fits);
  budget.host_bytes = 500 * kMiB;  // the program alone is reckoned with 512
  EXPECT_FALSE(make_plan("job", DeviceKind::cuda, budget, some_needs()).fits);
}

TEST(Plan, OnTheCpuEverythingIsOnTheHost) {
  Budget budget;
  const Plan plan = make_plan("job", DeviceKind::cpu, budget, some_needs());
  EXPECT_EQ(plan.peak_bytes, 0U);
  EXPECT_EQ(plan.host_peak_bytes, 3 * kGiB + 100 * kMiB + 512 * kMiB);
  EXPECT_TRUE(plan.fits);
  budget.host_bytes = 2 * kGiB;
  EXPECT_FALSE(make_plan("job", DeviceKind::cpu, budget, some_needs()).fits);
}

TEST(Plan, OptionsAreWrittenAsTheyAreTyped) {
  EXPECT_EQ(options_text({{"--window", "16"}, {"--kv-dtype", "int8"}}),
            "--window 16 --kv-dtype int8");
  EXPECT_EQ(typed_size(6237 * kMiB), "6237MiB");
  EXPECT_EQ(typed_size(kMiB + 1), "1048577");
  EXPECT_EQ(typed_number(std::nullopt), "auto");
  EXPECT_EQ(typed_number(0), "0");
  EXPECT_EQ(typed_type(std::nullopt), "auto");
  EXPECT_EQ(typed_type(DataType::int8), "int8");
}

TEST(Plan, OptionsOutsideTheirRangeAreRefusedByName) {
  check_option("--frames", 1, 1, 10);
  check_option("--frames", 10, 1, 10);
  check_option("--frames", std::optional<std::int64_t>(), 1, 10);
  EXPECT_THROW(check_option("--frames", 0, 1, 10), Error);
  EXPECT_THROW(check_option("--frames", std::optional<std::int64_t>(11), 1, 10), Error);
  EXPECT_EQ(device_kind_from_name("cpu", "--device"), DeviceKind::cpu);
  EXPECT_EQ(device_kind_from_name("cuda", "--device"), DeviceKind::cuda);
  EXPECT_THROW(device_kind_from_name("gpu", "--device"), Error);
}

}  // namespace
}  // namespace skyfix
