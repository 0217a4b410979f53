#include "skyfix/report/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skyfix {
namespace {

constexpr double kDegPerRad = 180 / std::numbers::pi;
// Beyond this the map's frame is hardly the reference's.
constexpr double kAnotherFrameMedianM = 1000;

FrameError frame_error(const Rigid3& found, const Reference& reference, const Rigid3& truth) {
  const Eigen::Vector3d off = found.centre() - truth.centre();
  const double unit = reference.metric ? 1 : 100 / reference.path_length;
  FrameError error;
  error.position = off.norm() * unit;
  error.horizontal = off.head<2>().norm() * unit;
  error.vertical = std::abs(off.z()) * unit;
  error.rotation_deg = rotation_angle(found.rotation, truth.rotation) * kDegPerRad;
  return error;
}

ErrorSummary summarize(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  double squares = 0;
  for (const double error : errors) squares += error * error;
  const std::size_t half = errors.size() / 2;
  const double median =
      errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  return {std::sqrt(squares / static_cast<double>(errors.size())), median, errors.back()};
}

ErrorSummary summarize(const std::vector<EvaluatedFrame>& frames, double FrameError::*figure) {
  std::vector<double> errors;
  for (const EvaluatedFrame& frame : frames) {
    if (frame.error) errors.push_back((*frame.error).*figure);
  }
  return summarize(std::move(errors));
}

std::vector<RecallLevel> recall_of(const std::vector<EvaluatedFrame>& frames) {
  std::vector<RecallLevel> levels = {{0.25, 2, 0}, {0.5, 5, 0}, {5, 10, 0}};
  for (RecallLevel& level : levels) {
    for (const EvaluatedFrame& frame : frames) {
      const bool within = frame.error && frame.error->position <= level.position &&
                          frame.error->rotation_deg <= level.rotation_deg;
      level.recalled += within ? 1 : 0;
    }
  }
  return levels;
}

void add_warnings(Evaluation& evaluation) {
  if (evaluation.references_without_record.size() == evaluation.references) {
    evaluation.warnings.push_back(
        "No frame of the run has a reference: the reference belongs to other photos, or the names "
        "differ.");
  }
  if (evaluation.metric && evaluation.position.median.value_or(0) > kAnotherFrameMedianM) {
    evaluation.warnings.push_back(
        "The errors are so large that the map's frame is hardly the reference's: poses are "
        "compared in the map model's own frame, without alignment.");
  }
}

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

}  // namespace

Evaluation evaluate(const std::vector<Record>& records, const Reference& reference) {
  Evaluation evaluation;
  evaluation.metric = reference.metric;
  evaluation.references = reference.queries.size();
  std::vector<std::string> record_names;
  for (const Record& record : records) record_names.push_back(record.fix.name);
  NameMatching names = match_names(record_names, names_of(reference.queries));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Fix& fix = records[i].fix;
    evaluation.counts.add(fix);
    EvaluatedFrame frame{fix.name, "", true, fix.status, fix.reason, std::nullopt};
    if (names.b_of_a[i]) {
      const ReferencePose& truth = reference.queries[*names.b_of_a[i]];
      frame.reference = truth.name;
      if (fix.pose) {
        frame.error = frame_error(fix.pose->cam_from_world, reference, truth.cam_from_world);
        ++evaluation.compared;
      }
    }
    evaluation.frames.push_back(std::move(frame));
  }
  for (const UnmatchedName& missing : names.unmatched_b) {
    evaluation.frames.push_back(
        {missing.name, missing.name, false, FixStatus::failed, std::nullopt, std::nullopt});
  }
  evaluation.records_without_reference = std::move(names.unmatched_a);
  evaluation.references_without_record = std::move(names.unmatched_b);
  evaluation.position = summarize(evaluation.frames, &FrameError::position);
  if (reference.metric) {
    evaluation.horizontal = summarize(evaluation.frames, &FrameError::horizontal);
    evaluation.vertical = summarize(evaluation.frames, &FrameError::vertical);
  }
  evaluation.rotation_deg = summarize(evaluation.frames, &FrameError::rotation_deg);
  evaluation.recall = recall_of(evaluation.frames);
  add_warnings(evaluation);
  return evaluation;
}

}  // namespace skyfix
