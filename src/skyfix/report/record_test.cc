#include "skyfix/report/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "skyfix/report/record_reader.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string line_of(const Fix& fix, const RecordHost& host = {}) {
  return json_line(record_json({fix, std::nullopt}, host));
}

TEST(Record, HasTheFieldsOfTheFormat) {
  const Json json = record_json({sample_ok_fix("a b/c.jpg", 7), 1234567890123456789}, {"box"});
  for (const char* key : {"schema",
                          "name",
                          "index",
                          "time_ns",
                          "status",
                          "reason",
                          "cam_from_world",
                          "position_enu",
                          "position_wgs84",
                          "orientation_ypr_ned",
                          "covariance_enu_6x6",
                          "inliers",
                          "matches",
                          "coverage",
                          "reprojection_px",
                          "camera_source",
                          "turn",
                          "vpr_retrieval",
                          "prior",
                          "alternative",
                          "warnings",
                          "telemetry"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["schema"], "skyfix-record-1");
  EXPECT_EQ(json["time_ns"], 1234567890123456789);
  EXPECT_EQ(json["covariance_enu_6x6"].size(), 36u);
  EXPECT_EQ(json["covariance_enu_6x6"][1], 0.004);
  EXPECT_TRUE(json["reason"].is_null());
  EXPECT_EQ(json["telemetry"]["host"], "box");
  EXPECT_EQ(json["telemetry"]["timing_ms"]["total"], 250.25);
  const Json& retrieval = json["vpr_retrieval"];
  EXPECT_EQ(retrieval["query_descriptor_source"], "vlad-sift");
  EXPECT_EQ(retrieval["query_descriptor_cache"], "miss");
  EXPECT_EQ(retrieval["num_faiss_candidates"], 18);
  EXPECT_EQ(retrieval["num_temporal_candidates"], 4);
  EXPECT_EQ(retrieval["policy"], "retrieval-first");
  EXPECT_EQ(retrieval["candidates"][0]["sources"][1]["source"], "temporal");
  EXPECT_EQ(retrieval["candidates"][0]["sources"][1]["rank"], 3);
}

TEST(Record, TellsOfTheDevicesMemory) {
  Fix fix = sample_ok_fix("a.jpg", 1);
  Json telemetry = record_json({fix, {}}, {})["telemetry"];
  EXPECT_EQ(telemetry["device"], "cpu");
  EXPECT_TRUE(telemetry["gpu_peak_mib"].is_null());
  EXPECT_TRUE(telemetry["gpu_memory"].is_null());
  EXPECT_EQ(telemetry["memory_retries"], 0);
  EXPECT_TRUE(telemetry["memory_given_up"].is_null());
  EXPECT_EQ(telemetry["numerics"], "equal");

  fix.telemetry.device = "cuda";
  fix.telemetry.peaks = DevicePeaks{3.5, 4, 8, std::nullopt, {{"a", 1.5}, {"b", 2}}};
  fix.telemetry.memory_retries = 2;
  fix.telemetry.memory_given_up = "release_cache, trim";
  fix.telemetry.reference_hits = 5;
  fix.telemetry.reference_misses = 6;
  telemetry = record_json({fix, {}}, {})["telemetry"];
  EXPECT_EQ(telemetry["device"], "cuda");
  EXPECT_EQ(telemetry["gpu_peak_mib"], 3.5);
  EXPECT_EQ(telemetry["gpu_memory"], Json::parse(R"({"by_owner_mib":{"a":1.5,"b":2.0},
      "allocated_peak_mib":4.0,"reserved_peak_mib":8.0,"used_mib":null})"));
  EXPECT_EQ(telemetry["memory_given_up"], "release_cache, trim");
  EXPECT_EQ(telemetry["reference_cache"], Json::parse(R"({"hits":5,"misses":6})"));
}

TEST(Record, IsOneLineWithoutNanOrInfinity) {
  Fix fix = sample_ok_fix("line\nbreak \"quoted\" \xFF.jpg", 1);
  fix.coverage = kNan;
  fix.reprojection_px = std::numeric_limits<double>::infinity();
  fix.pose->covariance_enu->coeffRef(2, 2) = kNan;
  fix.pose->position_enu->x() = -std::numeric_limits<double>::infinity();
  fix.warnings = {"stray \xC3 byte"};
  const std::string line = line_of(fix);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  const Json json = Json::parse(line);  // strict: valid UTF-8, no NaN
  EXPECT_TRUE(json["coverage"].is_null());
  EXPECT_TRUE(json["reprojection_px"].is_null());
  EXPECT_TRUE(json["covariance_enu_6x6"].is_null());
  EXPECT_TRUE(json["position_enu"][0].is_null());
  EXPECT_EQ(json["name"], "line\nbreak \"quoted\" \\xFF.jpg");
}

TEST(Record, QuaternionIsWFirstAndNotNegative) {
  Fix fix = sample_ok_fix("a.jpg", 1);
  fix.pose->cam_from_world.rotation = Eigen::Quaterniond(-0.5, 0.5, -0.5, 0.5);
  EXPECT_EQ(record_json({fix, {}}, {})["cam_from_world"]["q_wxyz"], Json({0.5, -0.5, 0.5, -0.5}));
  fix.pose->cam_from_world.rotation = Eigen::Quaterniond(-0.0, -1, 0, 0);
  EXPECT_THAT(line_of(fix), HasSubstr("\"q_wxyz\":[0.0,1.0,0.0,0.0]"));
}

TEST(Record, AFailureNeverLooksLikeAPose) {
  for (const FixStatus status : {FixStatus::rejected, FixStatus::failed, FixStatus::skipped}) {
    Fix fix = sample_bad_fix("a.jpg", 1, status, Reason::ambiguous_place);
    fix.pose = sample_ok_fix("a.jpg", 1).pose;  // a careless caller
    fix.alternative = Fix::Alternative{fix.pose->cam_from_world, 99, 1.5};
    const Json json = record_json({fix, {}}, {});
    for (const char* key : {"cam_from_world", "position_enu", "position_wgs84",
                            "orientation_ypr_ned", "covariance_enu_6x6", "covariance_map_6x6"}) {
      EXPECT_TRUE(json[key].is_null()) << key;
    }
    EXPECT_THAT(json_line(json), Not(HasSubstr("q_wxyz")));
    EXPECT_EQ(json["alternative"]["inliers"], 99);
    EXPECT_EQ(json["reason"], "ambiguous_place");
  }
}

TEST(Record, RefusesAFixThatContradictsItself) {
  Fix no_pose = sample_ok_fix("a.jpg", 1);
  no_pose.pose.reset();
  EXPECT_THROW(line_of(no_pose), Error);
  Fix not_finite = sample_ok_fix("a.jpg", 1);
  not_finite.pose->cam_from_world.translation.y() = kNan;
  EXPECT_THROW(line_of(not_finite), Error);
  Fix no_reason = sample_bad_fix("a.jpg", 1, FixStatus::failed, Reason::no_features);
  no_reason.reason.reset();
  EXPECT_THROW(line_of(no_reason), Error);
}

TEST(CanonicalRecord, DropsWhatEqualRunsMayDifferIn) {
  const Fix cold = sample_ok_fix("a.jpg", 1);
  Fix warm = cold;
  warm.telemetry.timing_ms = {{"decode", 1}};
  warm.telemetry.query_descriptor_cache = "hit";
  warm.retrieval.query_descriptor_source = "cache";
  warm.telemetry.device = "cuda";
  warm.telemetry.peaks = DevicePeaks{812.5, 812.5, 1024, 1500.25, {{"matcher", 812.5}}};
  warm.telemetry.memory_retries = 3;
  warm.telemetry.memory_given_up = "trim, half_chunk";
  warm.telemetry.reference_hits = 7;
  const std::string line = line_of(warm, {"elsewhere"});
  EXPECT_NE(line_of(cold), line);
  EXPECT_EQ(canonical_record_line(line_of(cold)), canonical_record_line(line));
  EXPECT_EQ(canonical_record_line(canonical_record_line(line)), canonical_record_line(line));
}

TEST(CanonicalRecord, KeepsEveryResult) {
  const Fix fix = sample_ok_fix("a.jpg", 1);
  Fix other = fix;
  other.pose->cam_from_world.translation.x() =
      std::nextafter(fix.pose->cam_from_world.translation.x(), 1e9);
  EXPECT_NE(canonical_record_line(line_of(fix)), canonical_record_line(line_of(other)));
  Fix fewer = fix;
  fewer.retrieval.candidates[0].candidate.origins.pop_back();
  EXPECT_NE(canonical_record_line(line_of(fix)), canonical_record_line(line_of(fewer)));
}

TEST(CanonicalRecord, RefusesOtherThings) {
  EXPECT_THROW(canonical_record_line("{}"), Error);
  EXPECT_THROW(canonical_record_line("{\"schema\":\"other\"}"), Error);
  EXPECT_THROW(canonical_record_line("{\"schema\":\"skyfix-record-1\""), Error);
}

}  // namespace
}  // namespace skyfix
