// The strongest pose that a user would call another answer.
#pragma once

#include <optional>

#include "skyfix/solve/polish.h"

namespace skyfix::solve {

// For a planar scene, the second minimum of the reprojection error over the inliers of `best`:
// given only if it differs clearly from it. It may turn out to be the better one.
std::optional<Polished> mirrored_solution(const PairSet& pairs, const Polished& best,
                                          const PoseOptions& options);

// The best pose of the pairs that `best` does not explain (repeated structures, two places), found
// by a bounded search; its consensus counts all pairs.
std::optional<Polished> second_consensus(const PairSet& pairs, const Polished& best,
                                         const PoseOptions& options);

// Rms error in pixels of the pairs `which`; infinite where one of them does not project.
double rms_over(const PairSet& pairs, std::span<const std::uint32_t> which, const Polished& pose);

}  // namespace skyfix::solve
