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

TEST(RunManifest, PutsTheFramesMemoryTogether) {
  Json manifest;
  RunMemory memory;
  memory.add({});
  write_memory(memory, {{"device", "cpu"}}, manifest);
  EXPECT_EQ(manifest["memory"]["device"], "cpu");
  EXPECT_TRUE(manifest["memory"]["gpu_peak_mib"].is_null());
  EXPECT_EQ(manifest["memory"]["retries"], 0);

  FixTelemetry telemetry;
  telemetry.peaks = DevicePeaks{5, 6, 30, std::nullopt, {{"a", 5}}};
  telemetry.reference_misses = 4;
  memory.add(telemetry);
  telemetry.peaks = DevicePeaks{9, 9, 20, 70, {{"a", 2}, {"b", 7}}};
  telemetry.memory_retries = 3;
  memory.add(telemetry);
  telemetry.peaks = DevicePeaks{8, 11, 12, 60, {{"a", 8}}};
  telemetry.memory_retries = 1;
  telemetry.reference_hits = 2;
  memory.add(telemetry);
  write_memory(memory, {{"device", "cuda"}, {"cap_mib", 64}}, manifest);
  const Json& json = manifest["memory"];
  EXPECT_EQ(json["cap_mib"], 64);
  EXPECT_EQ(json["gpu_peak_mib"], 9.0);
  EXPECT_EQ(json["gpu_memory"], Json::parse(R"({"by_owner_mib":{"a":2.0,"b":7.0},
      "allocated_peak_mib":11.0,"reserved_peak_mib":30.0,"used_mib":70.0})"));
  EXPECT_EQ(json["retries"], 4);
  EXPECT_EQ(json["frames_with_retries"], 2);
  EXPECT_EQ(json["reference_cache"], Json::parse(R"({"hits":2,"misses":12})"));
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
