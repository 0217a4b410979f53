#include "skyfix/report/stream_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/report/json_values.h"
#include "skyfix/report/stream_testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using report_testing::sample_failed_frame;
using report_testing::sample_stream_frame;

StreamRecord sample_record(std::int64_t index = 7) {
  StreamFrame frame = sample_stream_frame(index);
  frame.warnings = {"dark"};
  frame.latency_ms = 41.5;
  return stream_record(frame, 1.5, DepthFile{"depth/a.png", "png", 1.0 / 3}, {"box"});
}

std::string line_of(const StreamRecord& record) { return json_line(stream_record_json(record)); }

StreamRecord parsed(const std::string& line) {
  return parse_stream_record(line, "line 1", "records.jsonl");
}

TEST(StreamRecord, NamesDirectionsAndUnits) {
  const StreamFrame frame = sample_stream_frame(7);
  const Json json = Json::parse(line_of(sample_record()));
  EXPECT_EQ(json["schema"], "skyfix-stream-record-1");
  EXPECT_EQ(json["units"], "arbitrary");
  EXPECT_EQ(json["status"], "ok");
  EXPECT_TRUE(json["reason"].is_null());
  // The two directions belong together, and the centre is where the camera is.
  const Json& there = json["cam_from_world"];
  const Json& back = json["world_from_cam"];
  EXPECT_NEAR(back["t"][0].get<double>(), 0.49, 1e-12);
  EXPECT_EQ(back["t"], json["centre"]);
  EXPECT_NEAR(there["q_wxyz"][0].get<double>(), back["q_wxyz"][0].get<double>(), 1e-15);
  EXPECT_NEAR(there["q_wxyz"][2].get<double>(), -back["q_wxyz"][2].get<double>(), 1e-15);
  EXPECT_EQ(json["camera"]["model"], "PINHOLE");
  EXPECT_EQ(json["camera"]["width"], 112);
  EXPECT_EQ(json["network_camera"]["width"], 28);
  EXPECT_NEAR(json["fov_deg"]["horizontal"].get<double>(), 58.1092, 1e-3);
  EXPECT_EQ(json["role"], "keyframe");
  EXPECT_EQ(json["position"], 6);
  EXPECT_EQ(json["depth"]["units_per_step"], 1.0 / 3);
  EXPECT_EQ(json["telemetry"]["latency_ms"], 41.5);
  // Of the pixels that are not sky.
  int above = 0;
  int all = 0;
  for (std::size_t i = 0; i < frame.sky.size(); ++i) {
    if (frame.sky[i] == 1) continue;
    ++all;
    above += frame.prediction.confidence[i] > 1.5f ? 1 : 0;
  }
  EXPECT_EQ(json["confidence"]["share_above"], static_cast<double>(above) / all);
}

TEST(StreamRecord, ReadsBackWhatWasWritten) {
  const std::string line = line_of(sample_record());
  EXPECT_EQ(line_of(parsed(line)), line);
  const StreamRecord bad = stream_record(sample_failed_frame(3), 1.5, {}, {});
  EXPECT_EQ(line_of(parsed(line_of(bad))), line_of(bad));
  EXPECT_FALSE(parsed(line_of(bad)).view);
  // The record in memory is the one that is read: rotations have the sign of the file.
  StreamFrame turned = sample_stream_frame(4);
  turned.view.cam_from_world.rotation.coeffs() *= -1;
  const StreamRecord held = stream_record(turned, 1.5, {}, {});
  const StreamRecord read = parsed(line_of(held));
  EXPECT_EQ(held.view->view.cam_from_world.rotation.coeffs(),
            read.view->view.cam_from_world.rotation.coeffs());
  EXPECT_EQ(held.view->view.cam_from_world.translation, read.view->view.cam_from_world.translation);
}

TEST(StreamRecord, CanonicalLineLeavesTelemetryOut) {
  StreamFrame frame = sample_stream_frame(2);
  const auto canonical = [&] {
    return canonical_stream_record_line(line_of(stream_record(frame, 1.5, {}, {"box"})));
  };
  const std::string before = canonical();
  frame.timing_ms["decode"] = 99;
  frame.latency_ms = 3;
  EXPECT_EQ(canonical(), before);
  EXPECT_EQ(canonical_stream_record_line(before), before);
  EXPECT_EQ(line_of(parsed(before)).substr(0, 40), before.substr(0, 40));
  frame.window = 1;
  EXPECT_NE(canonical(), before);
  EXPECT_EQ(refusal_of([] { canonical_stream_record_line("{\"schema\":\"skyfix-record-1\"}"); }),
            Reason::bad_run);
}

TEST(StreamRecord, ContradictionsAreFaultsOfTheProgram) {
  StreamFrame frame = sample_stream_frame(2);
  frame.reason = Reason::corrupt_image;
  EXPECT_THROW(stream_record(frame, 1.5, {}, {}), Error);
  frame = sample_stream_frame(2);
  frame.view.cam_from_world.translation.x() = std::nan("");
  EXPECT_THROW(stream_record(frame, 1.5, {}, {}), Error);
  frame = sample_failed_frame(2);
  frame.reason.reset();
  EXPECT_THROW(stream_record(frame, 1.5, {}, {}), Error);
}

// Every place in a record is taken away, or replaced by something that does not belong there.
void damage(const Json& whole, Json& part, const std::vector<Json>& replacements, int& refused) {
  const auto attempt = [&] {
    try {
      const StreamRecord record = parsed(json_line(whole));
      stream_record_json(record);  // what is accepted can be written
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::bad_run) << error.message();
      ++refused;
    }
  };
  if (!part.is_structured()) return;
  for (auto item = part.begin(); item != part.end(); ++item) {
    const Json before = *item;
    for (const Json& other : replacements) {
      *item = other;
      attempt();
    }
    *item = before;
    damage(whole, *item, replacements, refused);
  }
  const Json before = part;
  if (part.is_object()) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : part.items()) keys.push_back(key);
    for (const std::string& key : keys) {
      part.erase(key);
      attempt();
      part = before;
    }
  }
}

TEST(StreamRecord, HostileLinesAreRefusedInWords) {
  Json json = Json::parse(line_of(sample_record()));
  const std::vector<Json> replacements = {
      nullptr, -1, 1e300, "x", true, Json::array(), Json::object(), {1, 2, 3, 4}, UINT64_MAX};
  int refused = 0;
  damage(json, json, replacements, refused);
  EXPECT_GT(refused, 300);
  EXPECT_EQ(refusal_of([] { parsed("{\"schema\":"); }), Reason::bad_run);
  EXPECT_EQ(refusal_of([] { parsed(std::string(10'000, '[')); }), Reason::bad_run);
  json = Json::parse(line_of(sample_record()));
  json["units"] = "metres";
  EXPECT_EQ(refusal_of([&] { parsed(json_line(json)); }), Reason::bad_run);
}

}  // namespace
}  // namespace skyfix
