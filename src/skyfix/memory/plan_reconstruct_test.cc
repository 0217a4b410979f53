#include "skyfix/memory/plan_reconstruct.h"

#include <random>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/memory/plan_testing.h"

namespace skyfix {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // skyfix::testing

const ReconstructRequest kLandscape{.width = 1920, .height = 1080, .frames = 111};
const ReconstructRequest kPortrait{.width = 1080, .height = 1920, .frames = 111};
// 518 x 378: what the speed and memory figures of this network are given for.
const ReconstructRequest kUsual{.width = 518, .height = 378, .frames = 10'000};

Plan plan(const ReconstructRequest& request, std::uint64_t gpu_bytes) {
  return plan_reconstruct(request, budget_of(gpu_bytes)).plan;
}

// What a user would do: type the alternative's options after the others.
std::pair<ReconstructRequest, Budget> applied(ReconstructRequest request, Budget budget,
                                              const std::vector<PlanOption>& options) {
  for (const auto& [name, value] : options) {
    if (name == "--image-size") request.image_size = std::stoll(value);
    if (name == "--window") request.window = std::stoll(value);
    if (name == "--num-scale-frames") request.num_scale_frames = std::stoll(value);
    if (name == "--tail-frames") request.tail_frames = std::stoll(value);
    if (name == "--dtype") request.dtype = data_type_from_name(value, name);
    if (name == "--head-dtype") request.head_dtype = data_type_from_name(value, name);
    if (name == "--kv-dtype") request.kv_dtype = data_type_from_name(value, name);
    if (name == "--offload") request.offload = offload_from_name(value, name);
    if (name == "--device") request.device = device_kind_from_name(value, name);
    if (name == "--gpu-memory") budget.gpu_bytes = parse_byte_size(value, name);
    if (name == "--host-memory") budget.host_bytes = parse_byte_size(value, name);
  }
  return {request, budget};
}

void expect_alternatives_fit(const ReconstructRequest& request, const Budget& budget) {
  const Plan asked = plan_reconstruct(request, budget).plan;
  for (const PlanAlternative& each : asked.alternatives) {
    const auto [changed, changed_budget] = applied(request, budget, each.options);
    const Plan again = plan_reconstruct(changed, changed_budget).plan;
    EXPECT_TRUE(again.fits) << options_text(each.options);
    EXPECT_EQ(again.peak_bytes, each.peak_bytes) << options_text(each.options);
  }
}

TEST(PlanReconstruct, WhereTheHostAloneIsShortNothingOnTheGpuIsGivenUp) {
  Budget budget = budget_of(24 * kGiB);
  const ReconstructPlan ample = plan_reconstruct(kLandscape, budget);
  budget.host_bytes = 100 << 20;
  const ReconstructPlan asked = plan_reconstruct(kLandscape, budget);
  EXPECT_FALSE(asked.plan.fits);
  EXPECT_EQ(asked.plan.settings, ample.plan.settings);
  ASSERT_GE(asked.plan.alternatives.size(), 3u);
  const std::vector<PlanOption>& first = asked.plan.alternatives.front().options;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].name, "--host-memory");
  for (const PlanAlternative& each : asked.plan.alternatives) {
    for (const PlanOption& option : each.options) EXPECT_NE(option.name, "--gpu-memory");
  }
  expect_alternatives_fit(kLandscape, budget);
}

TEST(PlanReconstruct, TokensOfBothClips) {
  EXPECT_EQ(plan(kPortrait, 20 * kGiB).tokens_per_frame, 1375);
  EXPECT_EQ(plan(kLandscape, 20 * kGiB).tokens_per_frame, 783);
  EXPECT_EQ(plan(kUsual, 20 * kGiB).tokens_per_frame, 1005);
}

TEST(PlanReconstruct, AmpleMemoryGivesTheBestSettings) {
  const auto settings = by_name(plan(kUsual, 20 * kGiB).settings);
  EXPECT_EQ(settings.at("--window"), "64");
  EXPECT_EQ(settings.at("--kv-dtype"), "bf16");
  EXPECT_EQ(settings.at("--head-dtype"), "fp32");
}

TEST(PlanReconstruct, EightGiBHoldTheWholeWindowInEightBits) {
  const Plan eight = plan(kUsual, 8 * kGiB);
  EXPECT_TRUE(eight.fits);
  const auto settings = by_name(eight.settings);
  EXPECT_EQ(settings.at("--window"), "64");
  EXPECT_EQ(settings.at("--kv-dtype"), "int8");
}

TEST(PlanReconstruct, LittleMemoryShrinksTheWindowAloud) {
  const Plan six = plan(kPortrait, 6 * kGiB);
  EXPECT_TRUE(six.fits);
  EXPECT_LT(std::stoi(by_name(six.settings).at("--window")), 64);
  EXPECT_THAT(six.notes, ::testing::Contains(HasSubstr("instead of 64")));
}

TEST(PlanReconstruct, WhatIsFixedIsNeverChanged) {
  ReconstructRequest fixed = kPortrait;
  fixed.window = 64;
  fixed.kv_dtype = DataType::bf16;
  fixed.head_dtype = DataType::fp32;
  const Plan six = plan(fixed, 6 * kGiB);
  EXPECT_FALSE(six.fits);
  const auto settings = by_name(six.settings);
  EXPECT_EQ(settings.at("--window"), "64");
  EXPECT_EQ(settings.at("--kv-dtype"), "bf16");
  EXPECT_EQ(settings.at("--head-dtype"), "fp32");
  expect_sound(six);
  expect_alternatives_fit(fixed, budget_of(6 * kGiB));
}

TEST(PlanReconstruct, EveryKindOfWayOutIsOffered) {
  ReconstructRequest fixed = kUsual;
  fixed.window = 64;
  fixed.kv_dtype = DataType::bf16;
  std::string all;
  for (const std::uint64_t budget : {6 * kGiB, 8 * kGiB, 9 * kGiB}) {
    for (const PlanAlternative& each : plan(fixed, budget).alternatives) {
      all += options_text(each.options) + "\n";
    }
  }
  ReconstructRequest portrait = kPortrait;
  portrait.window = 64;
  portrait.kv_dtype = DataType::bf16;
  for (const PlanAlternative& each : plan(portrait, 8 * kGiB).alternatives) {
    all += options_text(each.options) + "\n";
  }
  for (const char* option :
       {"--kv-dtype int8", "--window", "--num-scale-frames", "--image-size", "--offload weights",
        "--offload all", "--device cpu", "--gpu-memory"}) {
    EXPECT_THAT(all, HasSubstr(option));
  }
}

TEST(PlanReconstruct, TheSmallestBudgetIsTight) {
  for (const ReconstructRequest& request : {kLandscape, kPortrait, kUsual}) {
    const Plan small = plan(request, 1 * kGiB);
    const PlanAlternative* smallest = smallest_budget_alternative(small);
    ASSERT_NE(smallest, nullptr);
    ASSERT_EQ(smallest->options.size(), 1U);
    const std::uint64_t budget = parse_byte_size(smallest->options[0].value, "--gpu-memory");
    EXPECT_TRUE(plan(request, budget).fits);
    EXPECT_FALSE(plan(request, budget - kMiB).fits);
  }
}

TEST(PlanReconstruct, HostMemoryIsABudgetToo) {
  Budget budget = budget_of(20 * kGiB);
  budget.host_bytes = 100 * kMiB;
  const Plan short_of_host = plan_reconstruct(kLandscape, budget).plan;
  EXPECT_FALSE(short_of_host.fits);
  EXPECT_GE(short_of_host.alternatives.size(), 3U);
  expect_alternatives_fit(kLandscape, budget);
}

TEST(PlanReconstruct, ACpuPlanCountsHostMemory) {
  ReconstructRequest request = kLandscape;
  request.device = DeviceKind::cpu;
  Budget budget;
  const Plan unlimited = plan_reconstruct(request, budget).plan;
  EXPECT_TRUE(unlimited.fits);
  EXPECT_EQ(unlimited.peak_bytes, 0U);
  EXPECT_EQ(by_name(unlimited.settings).at("--dtype"), "fp32");
  EXPECT_GT(unlimited.host_peak_bytes, 4 * 1'157'943'540ULL);
  budget.host_bytes = 4 * kGiB;
  const Plan limited = plan_reconstruct(request, budget).plan;
  EXPECT_FALSE(limited.fits);
  EXPECT_GE(limited.alternatives.size(), 1U);
  expect_alternatives_fit(request, budget);
}

TEST(PlanReconstruct, RequestsThatCannotBeAreRefused) {
  const auto refused = [](auto change) {
    ReconstructRequest request = kLandscape;
    change(request);
    EXPECT_THROW(plan(request, 8 * kGiB), Error);
  };
  refused([](ReconstructRequest& request) { request.width = 0; });
  refused([](ReconstructRequest& request) { request.height = -1; });
  refused([](ReconstructRequest& request) { request.frames = 0; });
  refused([](ReconstructRequest& request) { request.window = 0; });
  refused([](ReconstructRequest& request) { request.num_scale_frames = 0; });
  refused([](ReconstructRequest& request) { request.image_size = 519; });
  refused([](ReconstructRequest& request) { request.keyframe_interval = 0; });
  refused([](ReconstructRequest& request) { request.tail_frames = -2; });
  refused([](ReconstructRequest& request) { request.dtype = DataType::int8; });
  refused([](ReconstructRequest& request) { request.head_dtype = DataType::int8; });
  refused([](ReconstructRequest& request) { request.width = INT64_MAX; });
}

// The largest that is accepted must not wrap around to something that fits.
TEST(PlanReconstruct, TheLargestNumbersDoNotOverflow) {
  ReconstructRequest largest{.width = 1'000'000, .height = 1'000'000, .frames = 1'000'000'000};
  largest.image_size = 4'200;
  largest.window = 1'000'000;
  largest.num_scale_frames = 1'000;
  largest.keyframe_interval = 1;
  largest.tail_frames = -1;
  largest.dtype = largest.head_dtype = largest.kv_dtype = DataType::fp32;
  const ReconstructPlan result = plan_reconstruct(largest, budget_of(20 * kGiB));
  EXPECT_FALSE(result.plan.fits);
  // The cache alone: more than 10^16 bytes.
  EXPECT_GT(static_cast<double>(result.plan.peak_bytes), 1e16);
  expect_sound(result.plan);
}

ReconstructRequest random_request(std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto maybe = [&](auto value) {
    return draw(0, 1) == 1 ? std::optional(value) : std::nullopt;
  };
  const DataType kv[] = {DataType::fp32, DataType::bf16, DataType::int8};
  const Offload offloads[] = {Offload::none, Offload::weights, Offload::all};
  return {.width = draw(300, 4'000),
          .height = draw(300, 4'000),
          .frames = draw(1, 20'000),
          .image_size = 14 * draw(10, 50),
          .window = maybe(draw(1, 128)),
          .num_scale_frames = draw(1, 12),
          .keyframe_interval = maybe(draw(1, 8)),
          .tail_frames = draw(-1, 400),
          .dtype = maybe(kv[draw(0, 1)]),
          .head_dtype = maybe(kv[draw(0, 1)]),
          .kv_dtype = maybe(kv[draw(0, 2)]),
          .point_head = draw(0, 1) == 1,
          .offload = offloads[draw(0, 2)]};
}

TEST(PlanReconstruct, WhatFitsGoesOnFittingAsTheBudgetGrows) {
  std::mt19937_64 random(4);
  int changes = 0;
  for (int round = 0; round < 100; ++round) {
    const ReconstructRequest request = random_request(random);
    bool fitted = false;
    for (std::uint64_t gpu = kGiB; gpu < 64 * kGiB; gpu = gpu * 5 / 4) {
      const Plan each = plan(request, gpu);
      expect_sound(each);
      EXPECT_TRUE(each.fits || !fitted);
      changes += each.fits && !fitted ? 1 : 0;
      fitted = each.fits;
    }
  }
  EXPECT_GT(changes, 50) << "the budgets must cross what is needed";
}

TEST(PlanReconstruct, EveryAlternativeReallyFits) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 100; ++round) {
    expect_alternatives_fit(random_request(random), budget_of((1 + round % 12) * kGiB));
  }
}

}  // namespace
}  // namespace skyfix
