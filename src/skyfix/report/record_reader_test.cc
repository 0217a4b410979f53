#include "skyfix/report/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using ::testing::HasSubstr;

Json json_of(const Fix& fix) { return record_json({fix, 42}, {}); }

std::string problem_of(const Json& json) {
  try {
    parse_record(json_line(json), "line 3", "records.jsonl");
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_run);
    EXPECT_THAT(error.message(), HasSubstr("line 3"));
    return error.message();
  }
  return "accepted";
}

TEST(RecordReader, GivesBackEveryBitOfAFix) {
  const Fix fix = sample_ok_fix("sub folder/ä.jpg", 7);
  const Record record = parse_record(json_line(json_of(fix)), "line 1", "");
  const Fix& read = record.fix;
  EXPECT_EQ(record.time_ns, 42);
  EXPECT_EQ(read.name, fix.name);
  EXPECT_EQ(read.index, 7);
  EXPECT_EQ(read.status, FixStatus::ok);
  EXPECT_EQ(read.pose->cam_from_world.translation, fix.pose->cam_from_world.translation);
  const double sign = fix.pose->cam_from_world.rotation.w() < 0 ? -1 : 1;
  EXPECT_EQ(read.pose->cam_from_world.rotation.coeffs(),
            sign * fix.pose->cam_from_world.rotation.coeffs());
  EXPECT_EQ(*read.pose->position_enu, *fix.pose->position_enu);
  EXPECT_EQ(read.pose->position_wgs84->latitude_deg, fix.pose->position_wgs84->latitude_deg);
  EXPECT_EQ(read.pose->orientation_ypr_ned->pitch_deg, -88.25);
  EXPECT_EQ(*read.pose->covariance_enu, *fix.pose->covariance_enu);
  EXPECT_EQ(read.camera, fix.camera);
  EXPECT_EQ(read.camera_source, fix.camera_source);
  EXPECT_EQ(read.image_width, 1600);
  EXPECT_EQ(read.turn, 1);
  EXPECT_EQ(read.reprojection_px, fix.reprojection_px);
  EXPECT_EQ(read.retrieval.num_temporal_candidates, 4);
}

TEST(RecordReader, TelemetryMayBeAbsentButNotWrong) {
  Json json = json_of(sample_ok_fix("a.jpg", 3));
  json["telemetry"]["memory_retries"] = -1;
  EXPECT_THAT(problem_of(json), HasSubstr("memory_retries"));
  json["telemetry"] = {{"gpu_peak_mib", 3}, {"gpu_memory", {{"by_owner_mib", {{"a", "much"}}}}}};
  EXPECT_THAT(problem_of(json), HasSubstr("by_owner_mib"));
  json["telemetry"] = Json::object();
  const FixTelemetry telemetry = parse_record(json_line(json), "", "").fix.telemetry;
  EXPECT_EQ(telemetry.device, "cpu");
  EXPECT_FALSE(telemetry.peaks.has_value());
  json.erase("telemetry");
  EXPECT_EQ(problem_of(json), "accepted");
}

TEST(RecordReader, WritingAgainGivesTheSameLine) {
  Fix fix = sample_ok_fix("a.jpg", 3);
  fix.retrieval.candidates.clear();
  fix.telemetry.device = "cuda";
  fix.telemetry.peaks = DevicePeaks{1.0 / 3, 2, 4, 5.5, {{"reference descriptors", 0.1}}};
  fix.telemetry.latency_ms = 81.5;
  fix.telemetry.memory_retries = 4;
  fix.telemetry.memory_given_up = "trim, half_chunk";
  fix.telemetry.numerics = "equivalent";
  fix.telemetry.reference_hits = 11;
  fix.telemetry.reference_misses = 12;
  const std::string line = json_line(json_of(fix));
  EXPECT_EQ(json_line(record_json(parse_record(line, "", ""), {})), line);
}

TEST(RecordReader, ReadsFailures) {
  const Fix fix = sample_bad_fix("a.jpg", 2, FixStatus::rejected, Reason::too_few_inliers);
  const Fix read = parse_record(json_line(json_of(fix)), "", "").fix;
  EXPECT_EQ(read.status, FixStatus::rejected);
  EXPECT_EQ(read.reason, Reason::too_few_inliers);
  EXPECT_EQ(read.reason_text, "It did not work.");
  EXPECT_FALSE(read.pose);
}

TEST(RecordReader, RefusesHostileRecords) {
  const auto changed = [](const std::function<void(Json&)>& change) {
    Json json = json_of(sample_ok_fix("a.jpg", 1));
    change(json);
    return problem_of(json);
  };
  EXPECT_EQ(changed([](Json&) {}), "accepted");
  EXPECT_THAT(changed([](Json& j) { j["schema"] = "skyfix-record-2"; }), HasSubstr("version"));
  EXPECT_THAT(changed([](Json& j) { j["index"] = 0; }), HasSubstr("index"));
  EXPECT_THAT(changed([](Json& j) { j["status"] = "fine"; }), HasSubstr("fine"));
  EXPECT_THAT(changed([](Json& j) { j["status"] = "failed"; }), HasSubstr("does not fit"));
  EXPECT_THAT(changed([](Json& j) { j["cam_from_world"] = nullptr; }), HasSubstr("does not fit"));
  EXPECT_THAT(changed([](Json& j) { j["cam_from_world"]["t"] = {1, 2}; }), HasSubstr("\"t\""));
  EXPECT_THAT(changed([](Json& j) {
                j["cam_from_world"]["q_wxyz"] = {0, 0, 0, 0};
              }),
              HasSubstr("unit"));
  EXPECT_THAT(changed([](Json& j) { j["position_wgs84"]["lat"] = 91; }), HasSubstr("earth"));
  EXPECT_NE(changed([](Json& j) { j["camera"]["params"] = {1}; }), "accepted");
  EXPECT_NE(changed([](Json& j) { j["camera"]["model"] = "FOV"; }), "accepted");
  EXPECT_NE(changed([](Json& j) { j["camera"]["params"][0] = -5; }), "accepted");
  EXPECT_NE(changed([](Json& j) { j["vpr_retrieval"]["policy"] = "magic"; }), "accepted");
  EXPECT_NE(changed([](Json& j) { j["inliers"] = 1e10; }), "accepted");
  EXPECT_NE(changed([](Json& j) { j["warnings"] = "none"; }), "accepted");
  EXPECT_NE(changed([](Json& j) { j.erase("turn"); }), "accepted");
}

TEST(RecordReader, EveryCutOfALineIsRefused) {
  const std::string line = json_line(json_of(sample_ok_fix("a.jpg", 1)));
  for (std::size_t length = 0; length < line.size(); length += 7) {
    EXPECT_THROW(parse_record(line.substr(0, length), "line 1", ""), Error) << length;
  }
}

}  // namespace
}  // namespace skyfix
