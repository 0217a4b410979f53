#include "skyfix/report/stream_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "skyfix/report/json_values.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr std::array kStatuses{StreamStatus::ok, StreamStatus::rejected, StreamStatus::failed,
                               StreamStatus::skipped};
constexpr std::array kRoles{FrameRole::scale, FrameRole::keyframe, FrameRole::non_keyframe};
constexpr double kDegPerRad = 180 / std::numbers::pi;

void check_consistent(const StreamFrame& frame) {
  const bool ok = frame.status == StreamStatus::ok;
  const std::string name = "the result of " + utf8_text(frame.name);
  if (ok == frame.reason.has_value()) {
    throw Error(Reason::internal, name + (ok ? " is ok and has a reason" : " lacks a reason"));
  }
  const Rigid3& pose = frame.view.cam_from_world;
  if (ok && !(pose.rotation.coeffs().allFinite() && pose.translation.allFinite())) {
    throw Error(Reason::internal, name + " is ok without a finite pose");
  }
}

// Of pixels that are not sky; 0 when there are none.
double share_above(const StreamFrame& frame, double threshold) {
  const std::vector<float>& confidence = frame.prediction.confidence;
  std::size_t all = 0;
  std::size_t above = 0;
  for (std::size_t i = 0; i < confidence.size(); ++i) {
    if (i < frame.sky.size() && frame.sky[i] != 0) continue;
    ++all;
    above += confidence[i] > threshold ? 1 : 0;
  }
  return all == 0 ? 0 : static_cast<double>(above) / static_cast<double>(all);
}

StreamView stream_view(const StreamFrame& frame, double threshold) {
  StreamView view;
  view.view = frame.view;
  // What is written and read again must be what is held.
  const Eigen::Vector4d q = canonical_wxyz(frame.view.cam_from_world.rotation);
  view.view.cam_from_world.rotation = Eigen::Quaterniond(q[0], q[1], q[2], q[3]);
  view.map = frame.map;
  view.position = frame.position;
  view.role = frame.role;
  view.window = frame.window;
  view.keys_seen = frame.prediction.keys_seen;
  view.median_confidence = frame.median_confidence;
  view.confidence_threshold = threshold;
  view.share_above = share_above(frame, threshold);
  return view;
}

double fov_deg(int pixels, double focal) {
  return 2 * std::atan2(pixels / 2.0, focal) * kDegPerRad;
}

Json fov_json(const Camera& camera) {
  return {{"horizontal", json_number(fov_deg(camera.width, camera.focal_x()))},
          {"vertical", json_number(fov_deg(camera.height, camera.focal_y()))}};
}

Json network_json(const GctFrameMap& map) {
  return {{"width", map.network_width},
          {"height", map.network_height},
          {"scale", {json_number(map.scale_x), json_number(map.scale_y)}},
          {"offset_px", {json_number(map.offset_x), json_number(map.offset_y)}}};
}

Json depth_json(const std::optional<DepthFile>& depth) {
  if (!depth) return nullptr;
  return {{"file", utf8_text(depth->file)},
          {"format", depth->format},
          {"units_per_step", json_number(depth->units_per_step)}};
}

void add_view(const std::optional<StreamView>& view, Json& json) {
  for (const char* key :
       {"cam_from_world", "world_from_cam", "centre", "camera", "network_camera", "fov_deg",
        "network", "confidence", "role", "window", "position", "keys_seen", "depth"}) {
    json[key] = nullptr;
  }
  if (!view) return;
  const GctView& seen = view->view;
  json["cam_from_world"] = json_pose(seen.cam_from_world);
  json["world_from_cam"] = json_pose(seen.cam_from_world.inverse());
  json["centre"] = json_numbers(seen.cam_from_world.centre());
  json["camera"] = json_camera(seen.source_camera);
  json["network_camera"] = json_camera(seen.network_camera);
  json["fov_deg"] = fov_json(seen.source_camera);
  json["network"] = network_json(view->map);
  json["confidence"] = {{"median", json_number(view->median_confidence)},
                        {"threshold", json_number(view->confidence_threshold)},
                        {"share_above", json_number(view->share_above)}};
  json["role"] = frame_role_name(view->role);
  json["window"] = view->window;
  json["position"] = view->position;
  json["keys_seen"] = view->keys_seen;
  json["depth"] = depth_json(view->depth);
}

GctFrameMap read_map(const JsonFields& fields, const Camera& source) {
  GctFrameMap map;
  map.source_width = source.width;
  map.source_height = source.height;
  map.network_width = read_count(fields, "width");
  map.network_height = read_count(fields, "height");
  const std::vector<double> scale = fields.numbers("scale", 2);
  const std::vector<double> offset = fields.numbers("offset_px", 2);
  if (!(scale[0] > 0 && scale[1] > 0)) fields.fail("scale", "must be above 0");
  map.scale_x = scale[0];
  map.scale_y = scale[1];
  map.offset_x = offset[0];
  map.offset_y = offset[1];
  return map;
}

Camera read_pinhole(const JsonFields& fields) {
  Camera camera = read_json_camera(fields);
  if (camera.model != CameraModel::pinhole) fields.fail("model", "must be PINHOLE");
  return camera;
}

StreamView read_view(const JsonFields& fields) {
  StreamView view;
  view.view.cam_from_world = read_json_pose(fields.object("cam_from_world"));
  view.view.source_camera = read_pinhole(fields.object("camera"));
  view.view.network_camera = read_pinhole(fields.object("network_camera"));
  view.map = read_map(fields.object("network"), view.view.source_camera);
  const JsonFields confidence = fields.object("confidence");
  view.median_confidence = confidence.number("median");
  view.confidence_threshold = confidence.number("threshold");
  view.share_above = confidence.number("share_above");
  view.role = read_named(fields, "role", kRoles, frame_role_name);
  view.window = read_count(fields, "window");
  view.position = fields.integer("position", 0, INT64_MAX);
  view.keys_seen = fields.integer("keys_seen", 0, INT64_MAX);
  if (!fields.has("depth")) return view;
  const JsonFields depth = fields.object("depth");
  view.depth = DepthFile{depth.text("file"), depth.text("format"), depth.number("units_per_step")};
  return view;
}

StreamRecord read_stream_record(const JsonFields& fields) {
  if (fields.text("schema") != kStreamRecordSchema) {
    fields.fail("schema", "must be \"" + std::string(kStreamRecordSchema) +
                              "\": the record is of another job or version");
  }
  StreamRecord record;
  record.name = fields.text("name");
  record.index = fields.integer("index", 1, std::numeric_limits<std::uint32_t>::max());
  if (fields.has("time_ns")) record.time_ns = fields.integer("time_ns", INT64_MIN, INT64_MAX);
  record.status = read_named(fields, "status", kStatuses, stream_status_name);
  if (fields.has("reason")) {
    record.reason = read_named(fields, "reason", kAllReasons, reason_name);
  }
  record.reason_text = read_optional_text(fields, "reason_text");
  const bool ok = record.status == StreamStatus::ok;
  if (ok == record.reason.has_value()) fields.fail("reason", "does not fit the status");
  if (ok != fields.has("cam_from_world")) fields.fail("cam_from_world", "does not fit the status");
  if (fields.text("units") != "arbitrary") fields.fail("units", "must be \"arbitrary\"");
  if (ok) record.view = read_view(fields);
  record.warnings = read_warnings(fields);
  if (!fields.has("telemetry")) return record;  // a canonical record has none
  const JsonFields telemetry = fields.object("telemetry");
  if (telemetry.has("timing_ms")) {
    record.telemetry.timing_ms = read_numbers_by_name(telemetry.object("timing_ms"));
  }
  record.telemetry.latency_ms = read_optional_number(telemetry, "latency_ms");
  record.telemetry.host = read_optional_text(telemetry, "host");
  return record;
}

}  // namespace

StreamRecord stream_record(const StreamFrame& frame, double confidence_threshold,
                           const std::optional<DepthFile>& depth, const RecordHost& host) {
  check_consistent(frame);
  StreamRecord record;
  record.name = frame.name;
  record.index = frame.index;
  record.time_ns = frame.time_ns;
  record.status = frame.status;
  record.reason = frame.reason;
  record.reason_text = frame.reason_text;
  if (frame.status == StreamStatus::ok) {
    record.view = stream_view(frame, confidence_threshold);
    record.view->depth = depth;
  }
  record.warnings = frame.warnings;
  record.telemetry.timing_ms = frame.timing_ms;
  record.telemetry.timing_ms.insert(frame.prediction.timing_ms.begin(),
                                    frame.prediction.timing_ms.end());
  record.telemetry.latency_ms = frame.latency_ms;
  record.telemetry.host = host.host;
  return record;
}

Json stream_record_json(const StreamRecord& record) {
  Json json;
  json["schema"] = kStreamRecordSchema;
  json["name"] = utf8_text(record.name);
  json["index"] = record.index;
  json["time_ns"] = record.time_ns ? Json(*record.time_ns) : Json(nullptr);
  json["status"] = stream_status_name(record.status);
  json["reason"] = record.reason ? Json(reason_name(*record.reason)) : Json(nullptr);
  json["reason_text"] = json_text_or_null(record.reason_text);
  json["units"] = "arbitrary";
  add_view(record.view, json);
  json["warnings"] = Json::array();
  for (const std::string& warning : record.warnings) {
    json["warnings"].push_back(utf8_text(warning));
  }
  json["telemetry"] = {{"timing_ms", json_numbers_by_name(record.telemetry.timing_ms)},
                       {"latency_ms", json_number(record.telemetry.latency_ms)},
                       {"host", json_text_or_null(record.telemetry.host)}};
  return json;
}

std::string canonical_stream_record_line(std::string_view line) {
  Json json = parse_json(line, {Reason::bad_run, {}}, "record");
  const JsonFields fields(json, {Reason::bad_run, {}}, "record");
  if (fields.text("schema") != kStreamRecordSchema) {
    fields.fail("schema", "must be " + std::string(kStreamRecordSchema));
  }
  json.erase("telemetry");
  return json_line(json);
}

StreamRecord parse_stream_record(std::string_view line, const std::string& where,
                                 const std::filesystem::path& file) {
  const JsonSource source{Reason::bad_run, file};
  const Json json = parse_json(line, source, where);
  try {
    return read_stream_record(JsonFields(json, source, where));
  } catch (const Error& problem) {
    // Values judged in other rooms (cameras) come with those rooms' reasons.
    if (problem.reason() == Reason::bad_run) throw;
    throw Error(Reason::bad_run, where + ": " + problem.message(), file);
  }
}

}  // namespace skyfix
