// From a rough view to the estimate handed out.
#pragma once

#include <optional>

#include "skyfix/solve/bundle.h"
#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {

struct Polished {
  Camera camera;  // with the refined focal length when asked for
  View view;
  Consensus seen;  // at options.max_error_px
};

// Bundle adjustment over the inliers; these and the scale of the loss are found again after each
// round until they stay.
// nullopt when the view is not finite or explains fewer than options.min_inliers.
std::optional<Polished> polish(const PairSet& pairs, const Camera& camera, const View& start,
                               const PoseOptions& options);

// The single-frame problem over the inliers of `seen`.
BundleProblem bundle_of(const PairSet& pairs, const Consensus& seen, const Camera& camera,
                        const View& view, const PoseOptions& options);

// An estimate without a pose for that many pairs.
PoseEstimate no_estimate(std::size_t pair_count, const Camera& camera);

// Fills everything but alternative and iterations. Covariance comes from `problem`, at its optimum.
PoseEstimate describe(const PairSet& pairs, std::size_t pair_count, const Polished& polished,
                      const BundleProblem& problem);

}  // namespace skyfix::solve
