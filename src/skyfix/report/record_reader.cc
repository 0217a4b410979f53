#include "skyfix/report/record_reader.h"

#include <array>

#include "skyfix/report/json_values.h"

namespace skyfix {
namespace {

constexpr std::array kStatuses{FixStatus::ok, FixStatus::rejected, FixStatus::failed,
                               FixStatus::skipped};
constexpr std::array kCameraSources{CameraSource::unknown,
                                    CameraSource::given,
                                    CameraSource::map_camera,
                                    CameraSource::map_camera_scaled,
                                    CameraSource::map_camera_turned,
                                    CameraSource::exif,
                                    CameraSource::guess};
std::optional<Eigen::Matrix<double, 6, 6>> read_covariance(const JsonFields& fields,
                                                           const std::string& key) {
  if (!fields.has(key)) return std::nullopt;
  const std::vector<double> values = fields.numbers(key, 36);
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(values.data());
}

Wgs84 read_wgs84(const JsonFields& fields) {
  const Wgs84 position{fields.number("lat"), fields.number("lon"), fields.number("h_ellipsoid")};
  if (!position.valid()) fields.fail("lat", "and lon are not a position on the earth");
  return position;
}

GimbalAngles read_ypr(const JsonFields& fields) {
  return {fields.number("yaw_deg"), fields.number("pitch_deg"), fields.number("roll_deg")};
}

FixPose read_fix_pose(const JsonFields& fields) {
  FixPose pose;
  pose.cam_from_world = read_json_pose(fields.object("cam_from_world"));
  if (fields.has("position_enu")) pose.position_enu = fields.vector3("position_enu");
  if (fields.has("position_wgs84")) {
    pose.position_wgs84 = read_wgs84(fields.object("position_wgs84"));
  }
  if (fields.has("orientation_ypr_ned")) {
    pose.orientation_ypr_ned = read_ypr(fields.object("orientation_ypr_ned"));
  }
  pose.covariance_enu = read_covariance(fields, "covariance_enu_6x6");
  pose.covariance_map = read_covariance(fields, "covariance_map_6x6");
  return pose;
}

void read_evidence(const JsonFields& fields, Fix& fix) {
  fix.inliers = read_count(fields, "inliers");
  fix.matches = read_count(fields, "matches");
  fix.coverage = read_optional_number(fields, "coverage").value_or(0);
  fix.reprojection_px = read_optional_number(fields, "reprojection_px");
  fix.log10_false_alarms = read_optional_number(fields, "log10_false_alarms");
  fix.planar = fields.boolean("planar");
  const JsonFields image = fields.object("image");
  fix.image_width = read_count(image, "width");
  fix.image_height = read_count(image, "height");
  if (fields.has("camera")) fix.camera = read_json_camera(fields.object("camera"));
  fix.camera_source = read_named(fields, "camera_source", kCameraSources, camera_source_name);
  fix.turn = static_cast<int>(fields.integer("turn", -3, 3));
}

void read_retrieval(const JsonFields& fields, Fix& fix) {
  RetrievalReport& retrieval = fix.retrieval;
  retrieval.query_descriptor_source = read_optional_text(fields, "query_descriptor_source");
  fix.telemetry.query_descriptor_cache = read_optional_text(fields, "query_descriptor_cache");
  retrieval.num_faiss_proposed = read_count(fields, "num_faiss_proposed");
  retrieval.num_temporal_proposed = read_count(fields, "num_temporal_proposed");
  retrieval.num_prior_proposed = read_count(fields, "num_prior_proposed");
  retrieval.num_faiss_candidates = read_count(fields, "num_faiss_candidates");
  retrieval.num_temporal_candidates = read_count(fields, "num_temporal_candidates");
  retrieval.num_prior_candidates = read_count(fields, "num_prior_candidates");
  retrieval.selected_source = read_optional_text(fields, "selected_source");
  retrieval.policy = candidate_policy_from_name(fields.text("policy"));
}

DevicePeaks read_peaks(double booked_mib, const JsonFields& fields) {
  DevicePeaks peaks;
  peaks.booked_mib = booked_mib;
  peaks.by_owner_mib = read_numbers_by_name(fields.object("by_owner_mib"));
  peaks.allocated_mib = fields.number("allocated_peak_mib");
  peaks.reserved_mib = fields.number("reserved_peak_mib");
  peaks.used_mib = read_optional_number(fields, "used_mib");
  return peaks;
}

// What an older version did not write is left as it is.
void read_telemetry(const JsonFields& fields, FixTelemetry& telemetry) {
  if (fields.has("timing_ms"))
    telemetry.timing_ms = read_numbers_by_name(fields.object("timing_ms"));
  telemetry.latency_ms = read_optional_number(fields, "latency_ms");
  if (fields.has("device")) telemetry.device = fields.text("device");
  if (fields.has("gpu_peak_mib") && fields.has("gpu_memory")) {
    telemetry.peaks = read_peaks(fields.number("gpu_peak_mib"), fields.object("gpu_memory"));
  }
  if (fields.has("memory_retries")) {
    telemetry.memory_retries = read_count(fields, "memory_retries");
  }
  telemetry.memory_given_up = read_optional_text(fields, "memory_given_up");
  if (fields.has("numerics")) telemetry.numerics = fields.text("numerics");
  if (!fields.has("reference_cache")) return;
  const JsonFields cache = fields.object("reference_cache");
  telemetry.reference_hits = cache.integer("hits", 0, INT64_MAX);
  telemetry.reference_misses = cache.integer("misses", 0, INT64_MAX);
}

void read_alternative(const JsonFields& fields, Fix& fix) {
  if (!fields.has("cam_from_world")) return;  // a rejected frame's: figures only
  fix.alternative = Fix::Alternative{read_json_pose(fields.object("cam_from_world")),
                                     read_count(fields, "inliers"),
                                     read_optional_number(fields, "reprojection_px").value_or(0)};
}

void read_verdict(const JsonFields& fields, Fix& fix) {
  fix.status = read_named(fields, "status", kStatuses, fix_status_name);
  const bool ok = fix.status == FixStatus::ok;
  if (fields.has("reason")) fix.reason = read_named(fields, "reason", kAllReasons, reason_name);
  fix.reason_text = read_optional_text(fields, "reason_text");
  if (ok == fix.reason.has_value()) fields.fail("reason", "does not fit the status");
  if (ok != fields.has("cam_from_world")) fields.fail("cam_from_world", "does not fit the status");
  if (ok) fix.pose = read_fix_pose(fields);
}

Record read_record(const JsonFields& fields) {
  if (fields.text("schema") != kRecordSchema) {
    fields.fail("schema", "must be \"" + std::string(kRecordSchema) +
                              "\": the record was written by another version");
  }
  Record record;
  Fix& fix = record.fix;
  fix.name = fields.text("name");
  fix.index = fields.integer("index", 1, INT64_MAX);
  if (fields.has("time_ns")) record.time_ns = fields.integer("time_ns", INT64_MIN, INT64_MAX);
  read_verdict(fields, fix);
  read_evidence(fields, fix);
  read_retrieval(fields.object("vpr_retrieval"), fix);
  if (fields.has("alternative")) read_alternative(fields.object("alternative"), fix);
  // A canonical record has none.
  if (fields.has("telemetry")) read_telemetry(fields.object("telemetry"), fix.telemetry);
  fix.warnings = read_warnings(fields);
  return record;
}

}  // namespace

Record parse_record(std::string_view line, const std::string& where,
                    const std::filesystem::path& file) {
  const JsonSource source{Reason::bad_run, file};
  const Json json = parse_json(line, source, where);
  try {
    return read_record(JsonFields(json, source, where));
  } catch (const Error& problem) {
    // Values judged in other rooms (cameras, policies) come with those rooms' reasons.
    if (problem.reason() == Reason::bad_run) throw;
    throw Error(Reason::bad_run, where + ": " + problem.message(), file);
  }
}

}  // namespace skyfix
