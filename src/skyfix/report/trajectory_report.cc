#include <spdlog/fmt/fmt.h>

#include "skyfix/report/json_values.h"
#include "skyfix/report/table.h"
#include "skyfix/report/trajectory_evaluation.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

Json statistics_json(const std::vector<double>& errors) {
  const ErrorStatistics s = error_statistics(errors);
  if (s.count == 0) return {{"count", 0}};
  return {{"count", s.count}, {"rmse", s.rmse}, {"mean", s.mean}, {"median", s.median},
          {"std", s.std},     {"min", s.min},   {"max", s.max}};
}

Json side_json(const Trajectory& path, std::size_t poses) {
  return {{"source", utf8_text(path.source.filename().string())},
          {"kind", trajectory_kind_name(path.kind)},
          {"unit", path.unit},
          {"poses", poses}};
}

Json pose_error_json(const TrajectoryEvaluation& evaluation, const Trajectory& estimate,
                     std::size_t i) {
  const TrajectoryPose& pose = estimate.poses[evaluation.pairs[i].estimate];
  return {{"name", json_text_or_null(pose.name)},
          {"time_s", json_number(pose.time_s)},
          {"ate", evaluation.ate[i]},
          {"ate_rotation_deg", evaluation.ate_rotation_deg[i]}};
}

const char* by_text(Association by) { return by == Association::time ? "time" : "name"; }

std::vector<std::string> statistics_row(const std::string& what,
                                        const std::vector<double>& errors) {
  const ErrorStatistics s = error_statistics(errors);
  std::vector<std::string> row{what};
  for (const double value : {s.rmse, s.mean, s.median, s.std, s.min, s.max}) {
    row.push_back(s.count == 0 ? "-" : fmt::format("{:.6g}", value));
  }
  return row;
}

}  // namespace

Json trajectory_evaluation_json(const TrajectoryEvaluation& evaluation, const Trajectory& estimate,
                                const Trajectory& reference) {
  Json json;
  json["schema"] = "skyfix-trajectory-evaluation-1";
  json["compared"] = evaluation.pairs.size();
  json["scale"] = evaluation.reference_from_estimate.scale;
  json["ate"] = statistics_json(evaluation.ate);
  json["ate_rotation_deg"] = statistics_json(evaluation.ate_rotation_deg);
  json["rpe"] = statistics_json(evaluation.rpe);
  json["rpe_rotation_deg"] = statistics_json(evaluation.rpe_rotation_deg);
  json["unit"] = reference.unit;
  json["reference_path_length"] = evaluation.reference_path_length;
  json["warnings"] = evaluation.warnings;
  json["per_pose"] = Json::array();
  for (std::size_t i = 0; i < evaluation.pairs.size(); ++i) {
    json["per_pose"].push_back(pose_error_json(evaluation, estimate, i));
  }
  const Similarity3& similarity = evaluation.reference_from_estimate;
  Json& protocol = json["protocol"];
  protocol["estimate"] = side_json(estimate, evaluation.estimates);
  protocol["reference"] = side_json(reference, evaluation.references);
  protocol["associated_by"] = by_text(evaluation.by);
  protocol["alignment"] = alignment_name(evaluation.alignment);
  protocol["reference_from_estimate"] = {
      {"scale", similarity.scale},
      {"q_wxyz", json_numbers(canonical_wxyz(similarity.rotation))},
      {"t", json_numbers(similarity.translation)}};
  protocol["rpe_between"] = "neighbours among the compared poses, after alignment";
  return json;
}

std::string trajectory_evaluation_table(const TrajectoryEvaluation& evaluation,
                                        const Trajectory& estimate, const Trajectory& reference) {
  std::string text =
      aligned_table({{"error"},
                     {"rmse", true},
                     {"mean", true},
                     {"median", true},
                     {"std", true},
                     {"min", true},
                     {"max", true}},
                    {statistics_row("ATE", evaluation.ate),
                     statistics_row("ATE rotation deg", evaluation.ate_rotation_deg),
                     statistics_row("RPE", evaluation.rpe),
                     statistics_row("RPE rotation deg", evaluation.rpe_rotation_deg)});
  text += fmt::format(
      "\n{} of {} poses ({}) compared with {} ({}), put together by {}\n"
      "alignment {}, scale {:.9g}; lengths in the reference's unit ({}), along a path of {:.6g}\n",
      evaluation.pairs.size(), evaluation.estimates, trajectory_kind_name(estimate.kind),
      evaluation.references, trajectory_kind_name(reference.kind), by_text(evaluation.by),
      alignment_name(evaluation.alignment), evaluation.reference_from_estimate.scale,
      reference.unit, evaluation.reference_path_length);
  for (const std::string& warning : evaluation.warnings) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace skyfix
