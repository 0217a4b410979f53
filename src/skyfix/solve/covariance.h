// How well the pose is known, from the residuals' own spread.
#pragma once

#include <optional>

#include "skyfix/solve/bundle.h"

namespace skyfix::solve {

// Covariance of the last frame's view (tangent of view.h) at the optimum of `problem`: the inverse
// of J^T J over views, focal factors and shared points with their prior, scaled by the variance of
// the robust estimate. With the Cauchy weight w(s) = 1 / (1 + s / c^2) of a squared residual s that
// is [sum s w^2 / (2n - p)] / [mean w^2]^2: Huber's formula for M-estimators (Robust Statistics,
// 1981, section 7.6), for residuals spread alike in all directions. nullopt when some motion is not
// determined, or there are not four more equations than unknowns.
std::optional<Matrix6> last_view_covariance(const BundleProblem& problem);

}  // namespace skyfix::solve
