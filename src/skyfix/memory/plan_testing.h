// What holds for every plan, whichever job it is of. For tests only.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "skyfix/memory/plan.h"

namespace skyfix::testing {

inline constexpr std::uint64_t kMiB = 1ULL << 20;
inline constexpr std::uint64_t kGiB = 1ULL << 30;

inline Budget budget_of(std::uint64_t gpu_bytes) {
  return resolve_budget({.gpu_bytes = gpu_bytes}, {});
}

inline std::map<std::string, std::string> by_name(const std::vector<PlanOption>& options) {
  std::map<std::string, std::string> map;
  for (const PlanOption& option : options) map[option.name] = option.value;
  return map;
}

// The alternative that changes nothing but the budget; null when there is none.
inline const PlanAlternative* smallest_budget_alternative(const Plan& plan) {
  for (const PlanAlternative& each : plan.alternatives) {
    if (each.what == "the smallest budget for these settings") return &each;
  }
  return nullptr;
}

// Fits exactly when within the budget; if it does not, there are at least three ways out, all of
// them different.
inline void expect_sound(const Plan& plan) {
  EXPECT_EQ(plan.fits, plan.peak_bytes <= plan.budget.gpu_bytes);
  EXPECT_EQ(plan.alternatives.empty(), plan.fits);
  if (plan.fits) return;
  EXPECT_GE(plan.alternatives.size(), 3U);
  std::set<std::string> texts;
  for (const PlanAlternative& each : plan.alternatives) {
    EXPECT_TRUE(each.fits) << each.what;
    EXPECT_FALSE(each.options.empty()) << each.what;
    texts.insert(options_text(each.options));
  }
  EXPECT_EQ(texts.size(), plan.alternatives.size());
}

}  // namespace skyfix::testing
