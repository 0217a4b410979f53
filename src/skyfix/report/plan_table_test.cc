#include <gmock/gmock.h>

#include "skyfix/memory/plan_localize.h"
#include "skyfix/memory/plan_reconstruct.h"
#include "skyfix/report/plan_report.h"

namespace skyfix {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kGiB = 1ULL << 30;
const ReconstructRequest kClip{.width = 1920, .height = 1080, .frames = 111};

Plan plan_of(std::uint64_t gpu_bytes, std::optional<std::uint64_t> host_bytes = {}) {
  return plan_reconstruct(kClip,
                          resolve_budget({.gpu_bytes = gpu_bytes, .host_bytes = host_bytes}, {}))
      .plan;
}

TEST(PlanTable, SaysWhatTheNetworkSeesAndThatItFits) {
  const std::string text = plan_table(plan_of(20 * kGiB));
  EXPECT_THAT(text, HasSubstr("518 x 294 px, 783 tokens a frame"));
  EXPECT_THAT(text, HasSubstr("kv cache"));
  EXPECT_THAT(text, HasSubstr("73.41 MiB x 72 window frames"));
  EXPECT_THAT(text, HasSubstr("It fits."));
  EXPECT_THAT(text, HasSubstr("of 20.00 GiB"));
  EXPECT_THAT(text, HasSubstr("--kv-dtype bf16"));
  EXPECT_THAT(text, HasSubstr("assumed to take 0.55 GiB"));
  EXPECT_THAT(text, Not(HasSubstr("This would fit")));
}

TEST(PlanTable, ListsWaysOutWhenItDoesNot) {
  const std::string text = plan_table(plan_of(2 * kGiB));
  EXPECT_THAT(text, HasSubstr("It does not fit."));
  EXPECT_THAT(text, HasSubstr("more than 2.00 GiB"));
  EXPECT_THAT(text, HasSubstr("This would fit"));
  EXPECT_THAT(text, HasSubstr("--device cpu"));
}

TEST(PlanTable, TheHostIsWeighedOnlyWhereItIsLimited) {
  EXPECT_THAT(plan_table(plan_of(20 * kGiB)), Not(HasSubstr("Host memory")));
  EXPECT_THAT(plan_table(plan_of(20 * kGiB, 16 * kGiB)), HasSubstr("of 16.00 GiB"));
  EXPECT_THAT(plan_table(plan_of(20 * kGiB, kGiB / 4)), HasSubstr("more than 256.00 MiB"));
}

TEST(PlanTable, AJobWithoutANetworkNamesNoInput) {
  const LocalizeRequest sift{.width = 4000, .height = 3000, .frames = 5};
  const std::string text =
      plan_table(plan_localize(sift, resolve_budget({.gpu_bytes = 8 * kGiB}, {})).plan);
  EXPECT_THAT(text, Not(HasSubstr("The network sees")));
  EXPECT_THAT(text, HasSubstr("x 4 cached references"));
}

}  // namespace
}  // namespace skyfix
