#include "skyfix/report/record.h"

#include <cmath>

#include "skyfix/report/json_values.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

// A covariance with a hole in it is no covariance.
Json covariance_json(const std::optional<Eigen::Matrix<double, 6, 6>>& covariance) {
  return covariance && covariance->allFinite() ? json_numbers(*covariance) : Json(nullptr);
}

Json wgs84_json(const std::optional<Wgs84>& position) {
  if (!position) return nullptr;
  return {{"lat", json_number(position->latitude_deg)},
          {"lon", json_number(position->longitude_deg)},
          {"h_ellipsoid", json_number(position->h_ellipsoid)}};
}

Json ypr_json(const std::optional<GimbalAngles>& angles) {
  if (!angles) return nullptr;
  return {{"yaw_deg", json_number(angles->yaw_deg)},
          {"pitch_deg", json_number(angles->pitch_deg)},
          {"roll_deg", json_number(angles->roll_deg)}};
}

Json candidate_json(const RetrievalReport::Entry& entry) {
  Json sources = Json::array();
  for (const CandidateOrigin& origin : entry.candidate.origins) {
    sources.push_back({{"source", candidate_source_name(origin.source)},
                       {"rank", origin.rank},
                       {"score", json_number(origin.score)}});
  }
  return {{"name", utf8_text(entry.candidate.name)},
          {"selected_source", candidate_source_name(entry.candidate.selected_source)},
          {"sources", std::move(sources)},
          {"matches", entry.matches},
          {"inliers", entry.inliers}};
}

Json retrieval_json(const Fix& fix) {
  const RetrievalReport& retrieval = fix.retrieval;
  Json candidates = Json::array();
  for (const RetrievalReport::Entry& entry : retrieval.candidates) {
    candidates.push_back(candidate_json(entry));
  }
  return {{"query_descriptor_source", json_text_or_null(retrieval.query_descriptor_source)},
          {"query_descriptor_cache", json_text_or_null(fix.telemetry.query_descriptor_cache)},
          {"num_temporal_candidates", retrieval.num_temporal_candidates},
          {"num_faiss_candidates", retrieval.num_faiss_candidates},
          {"num_prior_candidates", retrieval.num_prior_candidates},
          {"num_temporal_proposed", retrieval.num_temporal_proposed},
          {"num_faiss_proposed", retrieval.num_faiss_proposed},
          {"num_prior_proposed", retrieval.num_prior_proposed},
          {"selected_source", json_text_or_null(retrieval.selected_source)},
          {"policy", candidate_policy_name(retrieval.policy)},
          {"candidates", std::move(candidates)}};
}

Json alternative_json(const Fix& fix) {
  if (!fix.alternative) return nullptr;
  const bool ok = fix.status == FixStatus::ok;
  return {{"cam_from_world", ok ? json_pose(fix.alternative->cam_from_world) : Json(nullptr)},
          {"inliers", fix.alternative->inliers},
          {"reprojection_px", json_number(fix.alternative->reprojection_px)}};
}

Json telemetry_json(const FixTelemetry& telemetry, const RecordHost& host) {
  Json json;
  json["timing_ms"] = json_numbers_by_name(telemetry.timing_ms);
  if (telemetry.latency_ms) json["latency_ms"] = json_number(*telemetry.latency_ms);
  const std::optional<DevicePeaks>& peaks = telemetry.peaks;
  json["gpu_peak_mib"] = peaks ? json_number(peaks->booked_mib) : Json(nullptr);
  json["gpu_memory"] = peaks ? device_peaks_json(*peaks) : Json(nullptr);
  json["memory_retries"] = telemetry.memory_retries;
  json["memory_given_up"] = json_text_or_null(telemetry.memory_given_up);
  json["numerics"] = json_text_or_null(telemetry.numerics);
  json["reference_cache"] = {{"hits", telemetry.reference_hits},
                             {"misses", telemetry.reference_misses}};
  json["host"] = json_text_or_null(host.host);
  json["device"] = json_text_or_null(telemetry.device);
  return json;
}

void check_consistent(const Fix& fix) {
  const bool ok = fix.status == FixStatus::ok;
  const std::string name = "the fix of " + utf8_text(fix.name);
  if (ok == fix.reason.has_value()) {
    throw Error(Reason::internal, name + (ok ? " is ok and has a reason" : " lacks a reason"));
  }
  if (!ok) return;
  const auto finite = [](const Rigid3& pose) {
    return pose.rotation.coeffs().allFinite() && pose.translation.allFinite();
  };
  if (!fix.pose || !finite(fix.pose->cam_from_world)) {
    throw Error(Reason::internal, name + " is ok without a finite pose");
  }
}

void add_pose(const std::optional<FixPose>& pose, Json& json) {
  json["cam_from_world"] = pose ? json_pose(pose->cam_from_world) : Json(nullptr);
  json["position_enu"] =
      pose && pose->position_enu ? json_numbers(*pose->position_enu) : Json(nullptr);
  json["position_wgs84"] = wgs84_json(pose ? pose->position_wgs84 : std::nullopt);
  json["orientation_ypr_ned"] = ypr_json(pose ? pose->orientation_ypr_ned : std::nullopt);
  json["covariance_enu_6x6"] = covariance_json(pose ? pose->covariance_enu : std::nullopt);
  json["covariance_map_6x6"] = covariance_json(pose ? pose->covariance_map : std::nullopt);
}

void add_evidence(const Fix& fix, Json& json) {
  json["inliers"] = fix.inliers;
  json["matches"] = fix.matches;
  json["coverage"] = json_number(fix.coverage);
  json["reprojection_px"] = json_number(fix.reprojection_px);
  json["log10_false_alarms"] = json_number(fix.log10_false_alarms);
  json["planar"] = fix.planar;
  json["image"] = {{"width", fix.image_width}, {"height", fix.image_height}};
  json["camera"] = fix.camera ? json_camera(*fix.camera) : Json(nullptr);
  json["camera_source"] = camera_source_name(fix.camera_source);
  json["turn"] = fix.turn;
}

}  // namespace

Json device_peaks_json(const DevicePeaks& peaks) {
  return {{"by_owner_mib", json_numbers_by_name(peaks.by_owner_mib)},
          {"allocated_peak_mib", json_number(peaks.allocated_mib)},
          {"reserved_peak_mib", json_number(peaks.reserved_mib)},
          {"used_mib", json_number(peaks.used_mib)}};
}

Json record_json(const Record& record, const RecordHost& host) {
  const Fix& fix = record.fix;
  check_consistent(fix);
  Json json;
  json["schema"] = kRecordSchema;
  json["name"] = utf8_text(fix.name);
  json["index"] = fix.index;
  json["time_ns"] = record.time_ns ? Json(*record.time_ns) : Json(nullptr);
  json["status"] = fix_status_name(fix.status);
  json["reason"] = fix.reason ? Json(reason_name(*fix.reason)) : Json(nullptr);
  json["reason_text"] = json_text_or_null(fix.reason_text);
  add_pose(fix.status == FixStatus::ok ? fix.pose : std::nullopt, json);
  add_evidence(fix, json);
  json["vpr_retrieval"] = retrieval_json(fix);
  // The position prior only proposes candidates, so it is never argued with and shifts nothing.
  json["prior"] = {{"used", fix.retrieval.num_prior_proposed > 0},
                   {"rejected_because", nullptr},
                   {"shift", nullptr}};
  json["alternative"] = alternative_json(fix);
  json["warnings"] = Json::array();
  for (const std::string& warning : fix.warnings) json["warnings"].push_back(utf8_text(warning));
  json["telemetry"] = telemetry_json(fix.telemetry, host);
  return json;
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string canonical_record_line(std::string_view line) {
  Json json = parse_json(line, {Reason::bad_run, {}}, "record");
  const JsonFields fields(json, {Reason::bad_run, {}}, "record");
  if (fields.text("schema") != kRecordSchema) {
    fields.fail("schema", "must be " + std::string(kRecordSchema));
  }
  json.erase("telemetry");
  if (const auto retrieval = json.find("vpr_retrieval");
      retrieval != json.end() && retrieval->is_object()) {
    retrieval->erase("query_descriptor_source");
    retrieval->erase("query_descriptor_cache");
  }
  return json_line(json);
}

}  // namespace skyfix
