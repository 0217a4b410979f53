#include <gmock/gmock.h>

#include "skyfix/memory/plan_reconstruct.h"
#include "skyfix/report/plan_report.h"

namespace skyfix {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

Json json_of(std::uint64_t gpu_bytes) {
  const ReconstructRequest portrait{.width = 1080, .height = 1920, .frames = 111};
  return plan_json(plan_reconstruct(portrait, resolve_budget({.gpu_bytes = gpu_bytes}, {})).plan);
}

TEST(PlanJson, HoldsTheFiguresOfThePlan) {
  const Json json = json_of(20 * kGiB);
  EXPECT_EQ(json.at("schema"), "skyfix-plan-1");
  EXPECT_EQ(json.at("job"), "reconstruct");
  EXPECT_EQ(json.at("device"), "cuda");
  EXPECT_EQ(json.at("tokens_per_frame"), 1375);
  EXPECT_EQ(json.at("network_input").at("width"), 518);
  EXPECT_EQ(json.at("fits"), true);
  EXPECT_EQ(json.at("budget").at("gpu_bytes"), 20 * kGiB);
  EXPECT_EQ(json.at("budget").at("context_measured"), false);
  EXPECT_TRUE(json.at("budget").at("host_bytes").is_null());
  EXPECT_EQ(json.at("settings").at("window"), "64");
  EXPECT_TRUE(json.at("alternatives").empty());
}

TEST(PlanJson, OwnersAddUpToThePeak) {
  const Json json = json_of(20 * kGiB);
  std::uint64_t sum = 0;
  for (const auto& [owner, bytes] : json.at("by_owner").items()) {
    sum += bytes.get<std::uint64_t>();
  }
  EXPECT_EQ(sum, json.at("peak_bytes").get<std::uint64_t>());
  EXPECT_TRUE(json.at("by_owner").contains("context and libraries"));
  std::uint64_t host = 0;
  for (const auto& [owner, bytes] : json.at("host_by_owner").items()) {
    host += bytes.get<std::uint64_t>();
  }
  EXPECT_EQ(host, json.at("host_peak_bytes").get<std::uint64_t>());
}

TEST(PlanJson, AlternativesCarryWhatToType) {
  const Json json = json_of(3 * kGiB);
  EXPECT_EQ(json.at("fits"), false);
  ASSERT_GE(json.at("alternatives").size(), 3U);
  for (const Json& each : json.at("alternatives")) {
    EXPECT_EQ(each.at("options").get<std::string>().substr(0, 2), "--");
    EXPECT_TRUE(each.at("settings").contains("window"));
    EXPECT_EQ(each.at("fits"), true);
    EXPECT_TRUE(each.at("peak_bytes").is_number_unsigned());
  }
}

}  // namespace
}  // namespace skyfix
