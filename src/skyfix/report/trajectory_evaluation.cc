#include "skyfix/report/trajectory_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr double kDegPerRad = 180 / std::numbers::pi;
constexpr std::size_t kFewestToAlign = 3;

std::vector<Eigen::Vector3d> centres(const std::vector<Rigid3>& poses) {
  std::vector<Eigen::Vector3d> list;
  for (const Rigid3& pose : poses) list.push_back(pose.translation);
  return list;
}

Similarity3 align(const std::vector<Rigid3>& estimate, const std::vector<Rigid3>& reference,
                  Alignment alignment, const std::filesystem::path& source) {
  if (alignment == Alignment::none) return {};
  if (estimate.size() < kFewestToAlign) {
    throw Error(Reason::bad_reference,
                "an alignment needs at least 3 poses that belong together, here are " +
                    std::to_string(estimate.size()) + " (--align none does without)",
                source);
  }
  const std::vector<Eigen::Vector3d> a = centres(estimate);
  const std::vector<Eigen::Vector3d> b = centres(reference);
  Similarity3 similarity = fit_similarity(a, b);
  if (!(similarity.scale > 0)) {
    throw Error(Reason::bad_reference,
                "the poses lie on a line or in one place: they cannot be aligned (--align none "
                "does without)",
                source);
  }
  if (alignment == Alignment::sim3) return similarity;
  // The best rotation does not depend on the scale; the translation does.
  Eigen::Vector3d mean_a = Eigen::Vector3d::Zero();
  Eigen::Vector3d mean_b = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / static_cast<double>(a.size());
    mean_b += b[i] / static_cast<double>(b.size());
  }
  similarity.scale = 1;
  similarity.translation = mean_b - similarity.rotation * mean_a;
  return similarity;
}

double angle_deg(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b) {
  return rotation_angle(a, b) * kDegPerRad;
}

void add_relative_errors(const std::vector<Rigid3>& estimate, const std::vector<Rigid3>& reference,
                         TrajectoryEvaluation& evaluation) {
  for (std::size_t i = 1; i < estimate.size(); ++i) {
    const Rigid3 step = estimate[i - 1].inverse() * estimate[i];
    const Rigid3 true_step = reference[i - 1].inverse() * reference[i];
    const Rigid3 error = true_step.inverse() * step;
    evaluation.rpe.push_back(error.translation.norm());
    evaluation.rpe_rotation_deg.push_back(angle_deg(true_step.rotation, step.rotation));
    evaluation.reference_path_length += true_step.translation.norm();
  }
}

}  // namespace

std::string_view alignment_name(Alignment alignment) {
  switch (alignment) {
    case Alignment::sim3:
      return "sim3";
    case Alignment::se3:
      return "se3";
    case Alignment::none:
      return "none";
  }
  return "none";
}

Alignment alignment_from_name(std::string_view name) {
  for (const Alignment alignment : {Alignment::sim3, Alignment::se3, Alignment::none}) {
    if (alignment_name(alignment) == name) return alignment;
  }
  throw Error(Reason::bad_option, "--align must be sim3, se3 or none");
}

ErrorStatistics error_statistics(std::vector<double> errors) {
  ErrorStatistics statistics;
  statistics.count = errors.size();
  if (errors.empty()) return statistics;
  std::sort(errors.begin(), errors.end());
  const auto count = static_cast<double>(errors.size());
  double squares = 0;
  for (const double error : errors) {
    squares += error * error;
    statistics.mean += error / count;
  }
  double spread = 0;
  for (const double error : errors) {
    spread += (error - statistics.mean) * (error - statistics.mean);
  }
  const std::size_t half = errors.size() / 2;
  statistics.rmse = std::sqrt(squares / count);
  statistics.std = std::sqrt(spread / count);
  statistics.median = errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  statistics.min = errors.front();
  statistics.max = errors.back();
  return statistics;
}

TrajectoryEvaluation evaluate_trajectory(const Trajectory& estimate, const Trajectory& reference,
                                         Alignment alignment, const AssociationOptions& options) {
  TrajectoryEvaluation evaluation;
  const Associated associated = associate(estimate, reference, options);
  evaluation.alignment = alignment;
  evaluation.by = associated.by;
  evaluation.pairs = associated.pairs;
  evaluation.estimates = estimate.poses.size();
  evaluation.references = reference.poses.size();
  std::vector<Rigid3> found;
  std::vector<Rigid3> truth;
  for (const TrajectoryPair& pair : evaluation.pairs) {
    found.push_back(estimate.poses[pair.estimate].world_from_cam);
    truth.push_back(reference.poses[pair.reference].world_from_cam);
  }
  const Similarity3 similarity = align(found, truth, alignment, reference.source);
  evaluation.reference_from_estimate = similarity;
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = {(similarity.rotation * found[i].rotation).normalized(),
                similarity * found[i].translation};
    evaluation.ate.push_back((found[i].translation - truth[i].translation).norm());
    evaluation.ate_rotation_deg.push_back(angle_deg(truth[i].rotation, found[i].rotation));
  }
  add_relative_errors(found, truth, evaluation);
  if (alignment != Alignment::sim3 && estimate.kind == TrajectoryKind::reconstruction) {
    evaluation.warnings.push_back(
        "a reconstruction's unit is arbitrary: without --align sim3 its lengths mean nothing");
  }
  if (alignment == Alignment::sim3 && estimate.kind == TrajectoryKind::localization) {
    evaluation.warnings.push_back("aligning the scale of localized photos hides their error");
  }
  const std::size_t fewer = std::min(evaluation.estimates, evaluation.references);
  if (evaluation.pairs.size() * 2 < fewer) {
    evaluation.warnings.push_back("only " + std::to_string(evaluation.pairs.size()) + " of " +
                                  std::to_string(fewer) + " poses found their partner");
  }
  return evaluation;
}

}  // namespace skyfix
