#include "skyfix/memory/budget.h"

#include <gmock/gmock.h>

#include <string>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kGiB = 1ULL << 30;
constexpr std::uint64_t kShownBy8GiBCard = 7'885 * kMiB;  // 7.70 GiB

CardFacts card(std::uint64_t total, std::uint64_t free) {
  return {.total_bytes = total, .free_bytes = free, .context_bytes = 420 * kMiB};
}

std::string refusal(const BudgetRequest& request, const std::optional<CardFacts>& facts) {
  try {
    resolve_budget(request, facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    return error.what();
  }
  return "accepted";
}

TEST(Budget, WithoutACardTheSizeHoldsAndTheContextIsAssumedAloud) {
  const Budget budget = resolve_budget({.gpu_bytes = 8 * kGiB, .host_bytes = 3 * kGiB}, {});
  EXPECT_EQ(budget.gpu_bytes, 8 * kGiB);
  EXPECT_EQ(budget.context_bytes, kAssumedContextBytes);
  EXPECT_FALSE(budget.context_measured);
  EXPECT_EQ(budget.cap_bytes(), 8 * kGiB - kAssumedContextBytes);
  EXPECT_EQ(budget.host_bytes, 3 * kGiB);
  EXPECT_THAT(budget.notes, ElementsAre(HasSubstr("assumed to take 0.55 GiB")));
}

TEST(Budget, NeitherSizeNorCardIsAskedFor) {
  EXPECT_THAT(refusal({}, {}), HasSubstr("--gpu-memory 8GiB"));
}

TEST(Budget, AMeasuredContextIsTakenOffTheCap) {
  const Budget budget = resolve_budget({.gpu_bytes = 8 * kGiB}, card(24 * kGiB, 23 * kGiB));
  EXPECT_TRUE(budget.context_measured);
  EXPECT_EQ(budget.cap_bytes(), 8 * kGiB - 420 * kMiB);
  EXPECT_THAT(budget.notes, IsEmpty());
}

TEST(Budget, TheDefaultIsWhatIsFreeLessAMargin) {
  EXPECT_EQ(resolve_budget({}, card(8 * kGiB, 2 * kGiB)).gpu_bytes, 2 * kGiB - 256 * kMiB);
  EXPECT_EQ(resolve_budget({}, card(140 * kGiB, 100 * kGiB)).gpu_bytes, 95 * kGiB);
}

TEST(Budget, WithoutVirtualMemoryTheMarginIsLarger) {
  CardFacts old = card(140 * kGiB, 100 * kGiB);
  old.virtual_memory = false;
  const Budget budget = resolve_budget({}, old);
  EXPECT_EQ(budget.gpu_bytes, 88 * kGiB);
  EXPECT_FALSE(budget.expandable_segments);
  EXPECT_GT(budget.slack_share(), Budget().slack_share());
  EXPECT_THAT(budget.notes, ElementsAre(HasSubstr("classic segments")));
}

TEST(Budget, EightGiBRunsOnAnEightGiBCard) {
  const Budget budget =
      resolve_budget({.gpu_bytes = 8 * kGiB}, card(kShownBy8GiBCard, kShownBy8GiBCard - kMiB));
  EXPECT_EQ(budget.gpu_bytes, kShownBy8GiBCard - kMiB);
  EXPECT_THAT(budget.notes, ElementsAre(HasSubstr("--gpu-memory 8.00 GiB is taken as 7.70 GiB")));
}

TEST(Budget, EightPercentAboveTheCardIsTheEndOfClamping) {
  const CardFacts facts = card(100 * kGiB, 100 * kGiB);
  EXPECT_EQ(resolve_budget({.gpu_bytes = 108 * kGiB}, facts).gpu_bytes, 100 * kGiB);
  EXPECT_THAT(refusal({.gpu_bytes = 108 * kGiB + kMiB}, facts),
              HasSubstr("the card has 100.00 GiB"));
}

TEST(Budget, WhatOtherProgramsHoldIsNotPromised) {
  const Budget budget = resolve_budget({.gpu_bytes = 8 * kGiB}, card(12 * kGiB, 5 * kGiB));
  EXPECT_EQ(budget.gpu_bytes, 5 * kGiB);
  EXPECT_THAT(budget.notes, ElementsAre(HasSubstr("5.00 GiB are free")));
}

TEST(Budget, BelowTheContextSaysTheSmallestPossible) {
  EXPECT_THAT(refusal({.gpu_bytes = 300 * kMiB}, {}), HasSubstr("smallest possible is 628MiB"));
  EXPECT_THAT(refusal({.gpu_bytes = 300 * kMiB}, card(8 * kGiB, 7 * kGiB)),
              HasSubstr("smallest possible is 484MiB"));
  EXPECT_THAT(refusal({}, card(8 * kGiB, 500 * kMiB)), HasSubstr("free GPU memory"));
  EXPECT_THAT(refusal({}, card(8 * kGiB, 0)), HasSubstr("free GPU memory 0 B"));
}

TEST(Budget, TheSmallestPossibleIsAccepted) {
  EXPECT_EQ(resolve_budget({.gpu_bytes = 628 * kMiB}, {}).gpu_bytes, 628 * kMiB);
  EXPECT_THAT(refusal({.gpu_bytes = 627 * kMiB}, {}), HasSubstr("smallest possible"));
}

}  // namespace
}  // namespace skyfix
