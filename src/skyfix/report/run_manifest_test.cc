#include "skyfix/report/run_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RunManifest, HashIgnoresTheOrderOfKeysOnly) {
  const Json a = Json::parse(R"({"x":1,"y":{"p":[1,2],"q":"s"}})");
  const Json b = Json::parse(R"({"y":{"q":"s","p":[1,2]},"x":1})");
  EXPECT_EQ(configuration_hash(a), configuration_hash(b));
  EXPECT_NE(configuration_hash(a),
            configuration_hash(Json::parse(R"({"x":1,"y":{"p":[2,1],"q":"s"}})")));
  EXPECT_EQ(configuration_hash(a).size(), 64u);
}

TEST(RunManifest, NamesDifferencesWithBothValues) {
  const Json recorded = Json::parse(R"({"map":"aa","options":{"seed":1,"limit":15,"old":true}})");
  const Json now = Json::parse(R"({"options":{"limit":15,"seed":2,"new":[1]},"map":"aa"})");
  EXPECT_THAT(
      configuration_differences(recorded, now),
      ElementsAre("options.seed: recorded 1, now 2", "options.old: recorded true, now absent",
                  "options.new: recorded without, now [1]"));
  EXPECT_THAT(configuration_differences(now, now), IsEmpty());
}

TEST(RunManifest, CountsByStatusAndReason) {
  RunCounts counts;
  counts.add(sample_ok_fix("a", 1));
  counts.add(sample_bad_fix("b", 2, FixStatus::failed, Reason::out_of_memory));
  counts.add(sample_bad_fix("c", 3, FixStatus::rejected, Reason::too_few_inliers));
  counts.add(sample_bad_fix("d", 4, FixStatus::rejected, Reason::too_few_inliers));
  Json manifest;
  write_counts(counts, manifest);
  EXPECT_EQ(manifest["counts"],
            Json::parse(R"({"frames":4,"ok":1,"rejected":2,"failed":1,"skipped":0})"));
  EXPECT_EQ(manifest["reasons"]["too_few_inliers"], 2);
  EXPECT_EQ(manifest["memory_failures"], 1);
}

TEST(RunManifest, RefusesWhatWasChanged) {
  Json manifest;
  manifest["schema"] = kRunSchema;
  manifest["configuration"] = {{"seed", 1}};
  manifest["configuration_sha256"] = configuration_hash(manifest["configuration"]);
  EXPECT_EQ(parse_manifest(manifest.dump(), ""), manifest);
  manifest["configuration"]["seed"] = 2;
  try {
    parse_manifest(manifest.dump(), "run.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_run);
    EXPECT_THAT(error.message(), HasSubstr("changed"));
  }
  EXPECT_THROW(parse_manifest("{\"schema\":\"skyfix-run-9\"}", ""), Error);
  EXPECT_THROW(parse_manifest("", ""), Error);
}

TEST(RunManifest, TimeIsIsoUtc) {
  EXPECT_THAT(utc_now(), ::testing::MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+Z"));
}

}  // namespace
}  // namespace skyfix
