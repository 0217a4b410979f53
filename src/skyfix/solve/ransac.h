// The robust stage: LO-RANSAC (Chum, Matas and Kittler, DAGM 2003) with MSAC scores (Torr and
// Zisserman, CVIU 2000) around P3P.
#pragma once

#include <optional>

#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {

struct RansacResult {
  std::optional<View> view;  // locally optimised; nullopt when no sample gave a view
  int iterations = 0;
};

// Stops once a better view would have been sampled with options.confidence, or after
// max_iterations.
RansacResult ransac(const PairSet& pairs, const Camera& camera, const PoseOptions& options);

}  // namespace skyfix::solve
