// A few robust least-squares steps on the view: the local optimisation inside RANSAC, where Ceres'
// set-up would cost more than the steps.
#pragma once

#include <cstdint>
#include <span>

#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {

// Levenberg-Marquardt on sum of c^2 log(1 + e^2 / c^2) (Cauchy), e in pixels, c = scale_px, over
// the pairs `which`. Never returns a view of higher cost than `start`.
View local_refine(const PairSet& pairs, std::span<const std::uint32_t> which, const Camera& camera,
                  const View& start, double scale_px, int max_steps);

}  // namespace skyfix::solve
