// A camera path judged by another: absolute trajectory error (ATE) after alignment, relative pose
// error (RPE) between neighbours. Definitions: Sturm et al., "A Benchmark for the Evaluation of
// RGB-D SLAM Systems" (2012); alignment: Umeyama (1991). As evo computes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skyfix/report/json_fields.h"
#include "skyfix/report/trajectory.h"

namespace skyfix {

enum class Alignment { sim3, se3, none };
std::string_view alignment_name(Alignment alignment);
Alignment alignment_from_name(std::string_view name);  // throws Error(bad_option)

struct ErrorStatistics {
  std::size_t count = 0;
  double rmse = 0, mean = 0, median = 0, std = 0, min = 0, max = 0;
};
// All 0 for none. `std` is that of the values themselves (divided by n).
ErrorStatistics error_statistics(std::vector<double> errors);

struct TrajectoryEvaluation {
  Alignment alignment = Alignment::sim3;
  Similarity3 reference_from_estimate;  // what was applied; scale 1 but for sim3
  Association by = Association::name;
  std::size_t estimates = 0;
  std::size_t references = 0;
  std::vector<TrajectoryPair> pairs;
  // Lengths are in the reference's unit.
  std::vector<double> ate;               // by pair: distance of the centres
  std::vector<double> ate_rotation_deg;  // by pair
  std::vector<double> rpe;               // by pair of neighbouring pairs: length of the difference
  std::vector<double> rpe_rotation_deg;
  double reference_path_length = 0;  // through the compared poses
  std::vector<std::string> warnings;
};

// Throws Error(bad_reference): nothing to compare; fewer than 3 poses, or poses on one line, where
// an alignment is asked for.
TrajectoryEvaluation evaluate_trajectory(const Trajectory& estimate, const Trajectory& reference,
                                         Alignment alignment, const AssociationOptions& options);

// "skyfix-trajectory-evaluation-1"
Json trajectory_evaluation_json(const TrajectoryEvaluation& evaluation, const Trajectory& estimate,
                                const Trajectory& reference);
std::string trajectory_evaluation_table(const TrajectoryEvaluation& evaluation,
                                        const Trajectory& estimate, const Trajectory& reference);

}  // namespace skyfix
