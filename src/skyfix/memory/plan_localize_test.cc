#include "skyfix/memory/plan_localize.h"

#include <random>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_dinov3.h"
#include "skyfix/memory/plan_testing.h"

namespace skyfix {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // skyfix::testing

const LocalizeRequest kSift{.width = 4000, .height = 3000, .frames = 100};
const LocalizeRequest kLearned{.width = 4000,
                               .height = 3000,
                               .frames = 100,
                               .features = FeatureKind::mast3r,
                               .retrieval = "dinov3-vitl16"};

LocalizePlan plan(const LocalizeRequest& request, std::uint64_t gpu_bytes) {
  return plan_localize(request, budget_of(gpu_bytes));
}

std::optional<std::int64_t> number(const std::string& value) {
  return value == "auto" ? std::nullopt : std::optional<std::int64_t>(std::stoll(value));
}

// What a user would do: type the alternative's options after the others.
std::pair<LocalizeRequest, Budget> applied(LocalizeRequest request, Budget budget,
                                           const std::vector<PlanOption>& options) {
  for (const auto& [name, value] : options) {
    if (name == "--features") request.features = feature_kind_from_name(value, name);
    if (name == "--retrieval") request.retrieval = value;
    if (name == "--image-size") request.image_size = number(value);
    if (name == "--max-features") request.max_features = number(value);
    if (name == "--ref-cache-max-frames") request.ref_cache_max_frames = number(value);
    if (name == "--match-chunk") request.match_chunk = number(value);
    if (name == "--match-batch") request.match_batch = number(value);
    if (name == "--offload") request.offload = offload_from_name(value, name);
    if (name == "--device") request.device = device_kind_from_name(value, name);
    if (name == "--gpu-memory") budget.gpu_bytes = parse_byte_size(value, name);
    if (name == "--host-memory") budget.host_bytes = parse_byte_size(value, name);
  }
  return {request, budget};
}

void expect_alternatives_fit(const LocalizeRequest& request, const Budget& budget) {
  for (const PlanAlternative& each : plan_localize(request, budget).plan.alternatives) {
    const auto [changed, changed_budget] = applied(request, budget, each.options);
    const Plan again = plan_localize(changed, changed_budget).plan;
    EXPECT_TRUE(again.fits) << options_text(each.options);
    EXPECT_EQ(again.peak_bytes, each.peak_bytes) << options_text(each.options);
  }
}

TEST(PlanLocalize, ATinyBudgetIsAnsweredWithoutNetworks) {
  const LocalizeRequest request{.width = 4000, .height = 3000, .frames = 5};
  const Plan plan = plan_localize(request, budget_of(629ULL << 20)).plan;
  EXPECT_FALSE(plan.fits);
  ASSERT_GE(plan.alternatives.size(), 3u);
  for (const PlanAlternative& each : plan.alternatives) {
    for (const PlanOption& option : each.options) EXPECT_NE(option.name, "--features");
  }
}

TEST(PlanLocalize, TheReferenceCacheFollowsTheBudget) {
  EXPECT_EQ(plan(kSift, 24 * kGiB).settings.ref_cache_frames, 8);
  EXPECT_EQ(plan(kSift, 8 * kGiB + 1).settings.ref_cache_frames, 8);
  EXPECT_EQ(plan(kSift, 8 * kGiB).settings.ref_cache_frames, 4);
  LocalizeRequest given = kSift;
  given.ref_cache_max_frames = 20;
  EXPECT_EQ(plan(given, 8 * kGiB).settings.ref_cache_frames, 20);
  given.ref_cache_max_frames = 0;
  const LocalizePlan none = plan(given, 8 * kGiB);
  EXPECT_EQ(none.settings.ref_cache_frames, 0);
  EXPECT_EQ(none.settings.ref_cache_bytes, 0U);
}

TEST(PlanLocalize, SettingsAreWhatTheMatcherIsGiven) {
  const LocalizeSettings settings = plan(kSift, 24 * kGiB).settings;
  EXPECT_EQ(settings.query_rows, 20'000);
  EXPECT_EQ(settings.match_chunk, 20'000);
  EXPECT_EQ(settings.match_batch, 15);
  EXPECT_EQ(settings.ref_cache_bytes, 8U * (5'000 * 128 * 4 + 2 * 20'224));
  const LocalizeSettings learned = plan(kLearned, 24 * kGiB).settings;
  EXPECT_EQ(learned.query_rows, 512 * 384);
  EXPECT_EQ(learned.match_batch, 5);
}

TEST(PlanLocalize, TheLearnedPipelineFitsEightGiB) {
  EXPECT_TRUE(plan(kLearned, 8 * kGiB).plan.fits);
}

// The cache is the last to give way, and only because it must.
TEST(PlanLocalize, LittleMemoryTakesChunkAndBatchBeforeTheCache) {
  const std::uint64_t all = plan(kSift, 2 * kGiB).plan.peak_bytes;
  const LocalizeSettings less = plan(kSift, all - kMiB).settings;
  EXPECT_EQ(less.ref_cache_frames, 4);
  EXPECT_LT(less.match_chunk, 20'000);
  const LocalizePlan least = plan(kSift, 640 * kMiB);
  EXPECT_TRUE(least.plan.fits);
  EXPECT_LT(least.settings.ref_cache_frames, 4);
  EXPECT_THAT(least.plan.notes, ::testing::Contains(HasSubstr("cached instead of 4")));
}

TEST(PlanLocalize, AFixedCacheThatIsTooLargeIsAnsweredByASmallerOne) {
  LocalizeRequest request = kSift;
  request.ref_cache_max_frames = 1'000;
  request.reference_rows = 20'000;
  const Plan four = plan(request, 4 * kGiB).plan;
  EXPECT_FALSE(four.fits);
  EXPECT_EQ(options_text(four.alternatives.front().options), "--ref-cache-max-frames 8");
  expect_sound(four);
  expect_alternatives_fit(request, budget_of(4 * kGiB));
}

TEST(PlanLocalize, EveryKindOfWayOutIsOffered) {
  std::string all;
  for (const std::uint64_t budget : {700 * kMiB, kGiB, 2 * kGiB}) {
    for (const PlanAlternative& each : plan(kLearned, budget).plan.alternatives) {
      all += options_text(each.options) + "\n";
    }
  }
  LocalizeRequest chunk = kSift;
  chunk.max_features = 10'000'000;
  chunk.match_chunk = 10'000'000;
  for (const PlanAlternative& each : plan(chunk, 4 * kGiB).plan.alternatives) {
    all += options_text(each.options) + "\n";
  }
  for (const char* option : {"--retrieval dinov3-vits16plus", "--features xfeat", "--features sift",
                             "--image-size", "--offload weights", "--match-chunk 5000000",
                             "--max-features", "--device cpu", "--gpu-memory"}) {
    EXPECT_THAT(all, HasSubstr(option));
  }
}

TEST(PlanLocalize, TheSmallestBudgetIsTight) {
  for (const LocalizeRequest& request : {kSift, kLearned}) {
    const Plan small = plan(request, 628 * kMiB).plan;
    const PlanAlternative* smallest = smallest_budget_alternative(small);
    ASSERT_NE(smallest, nullptr);
    const std::uint64_t budget = parse_byte_size(smallest->options.at(0).value, "--gpu-memory");
    EXPECT_TRUE(plan(request, budget).plan.fits);
    EXPECT_FALSE(plan(request, budget - kMiB).plan.fits);
  }
}

TEST(PlanLocalize, NothingGrowsWithTheFrames) {
  LocalizeRequest longer = kLearned;
  longer.frames = 1'000'000;
  EXPECT_EQ(plan(longer, 8 * kGiB).plan.peak_bytes, plan(kLearned, 8 * kGiB).plan.peak_bytes);
}

TEST(PlanLocalize, RequestsThatCannotBeAreRefused) {
  const auto refused = [](auto change) {
    LocalizeRequest request = kSift;
    change(request);
    EXPECT_THROW(plan(request, 8 * kGiB), Error);
  };
  refused([](LocalizeRequest& request) { request.width = 0; });
  refused([](LocalizeRequest& request) { request.height = -5; });
  refused([](LocalizeRequest& request) { request.frames = 0; });
  refused([](LocalizeRequest& request) { request.retrieval = "dinov3-vitx16"; });
  refused([](LocalizeRequest& request) { request.ref_cache_max_frames = -1; });
  refused([](LocalizeRequest& request) { request.match_chunk = 0; });
  refused([](LocalizeRequest& request) { request.match_batch = 0; });
  refused([](LocalizeRequest& request) { request.offload = Offload::all; });
  refused([](LocalizeRequest& request) { request.dtype = DataType::int8; });
  refused([](LocalizeRequest& request) {
    request.features = FeatureKind::mast3r;
    request.width = 100'000;
    request.height = 10;
  });
}

// The largest that is accepted must not wrap around to something that fits.
TEST(PlanLocalize, TheLargestNumbersDoNotOverflow) {
  LocalizeRequest largest{.width = 1'000'000, .height = 1'000'000, .frames = 1'000'000'000};
  largest.features = FeatureKind::aliked;
  largest.image_size = 16'384;
  largest.max_features = 10'000'000;
  largest.reference_rows = 10'000'000;
  largest.references = 100'000;
  largest.ref_cache_max_frames = 1'000'000;
  const Plan result = plan(largest, 20 * kGiB).plan;
  // The cache alone: a million references of ten million rows of 520 bytes.
  EXPECT_GT(static_cast<double>(result.peak_bytes), 5.2e15);
  expect_sound(result);
}

LocalizeRequest random_request(std::mt19937_64& random) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  const auto maybe = [&](std::int64_t value) {
    return draw(0, 1) == 1 ? std::optional(value) : std::nullopt;
  };
  const FeatureKind kinds[] = {FeatureKind::sift, FeatureKind::xfeat, FeatureKind::aliked,
                               FeatureKind::mast3r};
  const auto& models = dinov3_models();
  const std::size_t model = draw(0, models.size());
  return {.width = draw(600, 8'000),
          .height = draw(600, 8'000),
          .frames = draw(1, 1'000),
          .features = kinds[draw(0, 3)],
          .retrieval = model < models.size() ? std::string(models[model].name) : "vlad",
          .max_features = maybe(draw(100, 50'000)),
          .reference_rows = draw(100, 20'000),
          .references = draw(1, 40),
          .ref_cache_max_frames = maybe(draw(0, 400)),
          .match_chunk = maybe(draw(256, 20'000)),
          .match_batch = maybe(draw(1, 40)),
          .offload = draw(0, 3) == 0 ? Offload::weights : Offload::none};
}

TEST(PlanLocalize, WhatFitsGoesOnFittingAsTheBudgetGrows) {
  std::mt19937_64 random(6);
  int changes = 0;
  for (int round = 0; round < 50; ++round) {
    const LocalizeRequest request = random_request(random);
    bool fitted = false;
    for (std::uint64_t gpu = 640 * kMiB; gpu < 16 * kGiB; gpu = gpu * 5 / 4) {
      const Plan each = plan(request, gpu).plan;
      expect_sound(each);
      EXPECT_TRUE(each.fits || !fitted);
      changes += each.fits && !fitted ? 1 : 0;
      fitted = each.fits;
    }
  }
  EXPECT_GT(changes, 25) << "the budgets must cross what is needed";
}

TEST(PlanLocalize, EveryAlternativeReallyFits) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    expect_alternatives_fit(random_request(random), budget_of((640 + 100 * round) * kMiB));
  }
}

}  // namespace
}  // namespace skyfix
