#include "skyfix/report/evaluate.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

Json figure(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// NAME_rmse_UNIT, NAME_median_UNIT, NAME_max_UNIT.
void add_summary(const std::string& name, const std::string& unit, const ErrorSummary& summary,
                 Json& json) {
  json[name + "_rmse_" + unit] = figure(summary.rmse);
  json[name + "_median_" + unit] = figure(summary.median);
  json[name + "_max_" + unit] = figure(summary.max);
}

const char* position_key(bool metric) { return metric ? "position_m" : "position_percent"; }

Json recall_json(const Evaluation& evaluation) {
  Json list = Json::array();
  for (const RecallLevel& level : evaluation.recall) {
    Json entry;
    entry[position_key(evaluation.metric)] = level.position;
    entry["rotation_deg"] = level.rotation_deg;
    entry["frames"] = level.recalled;
    entry["share"] = evaluation.references == 0 ? Json(nullptr)
                                                : Json(static_cast<double>(level.recalled) /
                                                       static_cast<double>(evaluation.references));
    list.push_back(std::move(entry));
  }
  return list;
}

Json frame_json(const EvaluatedFrame& frame, bool metric) {
  Json json;
  json["name"] = utf8_text(frame.name);
  json["reference"] = frame.reference.empty() ? Json(nullptr) : Json(utf8_text(frame.reference));
  json["status"] = frame.recorded ? Json(fix_status_name(frame.status)) : Json(nullptr);
  json["reason"] = frame.reason ? Json(reason_name(*frame.reason)) : Json(nullptr);
  const auto value = [&](double FrameError::*member) {
    return frame.error ? Json((*frame.error).*member) : Json(nullptr);
  };
  if (metric) {
    json["horizontal_m"] = value(&FrameError::horizontal);
    json["vertical_m"] = value(&FrameError::vertical);
  }
  json[position_key(metric)] = value(&FrameError::position);
  json["rotation_deg"] = value(&FrameError::rotation_deg);
  return json;
}

Json unmatched_json(const std::vector<UnmatchedName>& names) {
  Json list = Json::array();
  for (const UnmatchedName& name : names) {
    list.push_back({{"name", utf8_text(name.name)},
                    {"why", name.why},
                    {"nearest", name.nearest ? Json(utf8_text(*name.nearest)) : Json(nullptr)}});
  }
  return list;
}

Json reference_json(const Reference& reference) {
  Json json;
  json["file"] = utf8_text(reference.file.filename().string());
  json["sha256"] = reference.sha256;
  json["dataset"] = reference.dataset;
  json["frame"] = reference.frame_kind;
  json["accuracy"] = reference.accuracy;
  json["poses"] = reference.queries.size();
  if (!reference.metric) {
    json["path_length_units"] = reference.path_length;
    json["path_length_source"] = reference.path_length_source;
  }
  return json;
}

Json protocol_json(const Evaluation& evaluation, const Reference& reference, const Json& manifest) {
  Json json;
  json["reference"] = reference_json(reference);
  json["alignment"] = "none: poses are compared in the map model's own frame, scale included";
  json["unit"] = evaluation.metric ? "metres" : "per cent of the reference's camera path";
  json["horizontal_and_vertical"] =
      evaluation.metric ? "the reference frame's x, y plane (east, north) and z axis (up)"
                        : "not defined: the reference frame is not level";
  json["errors_over"] = "frames with status ok and a reference pose";
  json["frames_compared"] = evaluation.compared;
  json["recall_over"] = "all reference poses; a frame that is missing or not ok is not recalled";
  json["frames_in_recall"] = evaluation.references;
  json["counts_over"] = "all records of the run";
  json["names"] = "matched in full, else by base name where it is the only one on both sides";
  json["frames_without_reference"] = unmatched_json(evaluation.records_without_reference);
  json["references_without_frame"] = unmatched_json(evaluation.references_without_record);
  for (const char* key : {"state", "configuration", "configuration_sha256", "about"}) {
    const auto found = manifest.find(key);
    json["run"][key] = found == manifest.end() ? Json(nullptr) : *found;
  }
  return json;
}

}  // namespace

Json evaluation_json(const Evaluation& evaluation, const Reference& reference,
                     const Json& manifest) {
  Json json;
  json["schema"] = "skyfix-evaluation-1";
  json["frames"] = evaluation.counts.frames;
  for (const FixStatus status :
       {FixStatus::ok, FixStatus::rejected, FixStatus::failed, FixStatus::skipped}) {
    json[std::string(fix_status_name(status))] = evaluation.counts.with(status);
  }
  json["memory_failures"] = evaluation.counts.memory_failures();
  // Always there, so that a script need not ask which kind of reference it was; null if undefined.
  add_summary("horizontal", "m", evaluation.horizontal, json);
  add_summary("vertical", "m", evaluation.vertical, json);
  add_summary("position", "m", evaluation.metric ? evaluation.position : ErrorSummary{}, json);
  if (!evaluation.metric) add_summary("position", "percent", evaluation.position, json);
  add_summary("rotation", "deg", evaluation.rotation_deg, json);
  json["recall"] = recall_json(evaluation);
  json["warnings"] = evaluation.warnings;
  json["per_frame"] = Json::array();
  for (const EvaluatedFrame& frame : evaluation.frames) {
    json["per_frame"].push_back(frame_json(frame, evaluation.metric));
  }
  json["protocol"] = protocol_json(evaluation, reference, manifest);
  return json;
}

}  // namespace skyfix
