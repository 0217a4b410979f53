#include "skyfix/solve/local_refine.h"

#include <Eigen/Cholesky>
#include <cmath>

namespace skyfix::solve {
namespace {

// Error of a point that does not project, in units of the scale: far enough to be worth moving for.
constexpr double kUnseenError = 100;

struct Normal {
  Matrix6 hessian = Matrix6::Zero();
  Vector6 gradient = Vector6::Zero();
};

double robust_cost(double squared, double scale_squared) {
  return scale_squared * std::log1p(squared / scale_squared);
}

double total_cost(const PairSet& pairs, std::span<const std::uint32_t> which, const Camera& camera,
                  const View& view, double scale_squared) {
  const double unseen = kUnseenError * kUnseenError * scale_squared;
  double cost = 0;
  for (const std::uint32_t i : which) {
    const double squared = squared_error_px(camera, view, pairs.point[i], pairs.pixel[i]);
    cost += robust_cost(std::isfinite(squared) ? squared : unseen, scale_squared);
  }
  return cost;
}

Normal normal_equations(const PairSet& pairs, std::span<const std::uint32_t> which,
                        const Camera& camera, const View& view, double scale_squared) {
  Normal out;
  for (const std::uint32_t i : which) {
    const std::optional<Linearised> seen = linearise(camera, view, pairs.point[i]);
    if (!seen) continue;
    const Eigen::Vector2d residual = seen->pixel - pairs.pixel[i];
    const double weight = 1 / (1 + residual.squaredNorm() / scale_squared);
    const Matrix26 weighted = weight * seen->by_view;
    out.hessian += weighted.transpose() * seen->by_view;
    out.gradient += weighted.transpose() * residual;
  }
  return out;
}

}  // namespace

View local_refine(const PairSet& pairs, std::span<const std::uint32_t> which, const Camera& camera,
                  const View& start, double scale_px, int max_steps) {
  const double scale_squared = scale_px * scale_px;
  View view = start;
  double cost = total_cost(pairs, which, camera, view, scale_squared);
  double damping = 1e-4;
  for (int step = 0; step < max_steps; ++step) {
    const Normal normal = normal_equations(pairs, which, camera, view, scale_squared);
    bool better = false;
    double gain = 0;
    for (; !better && damping < 1e6; damping *= 10) {
      Matrix6 damped = normal.hessian;
      damped.diagonal() *= 1 + damping;
      const Vector6 move = -damped.ldlt().solve(normal.gradient);
      if (!move.allFinite()) continue;
      const View candidate = moved(view, move);
      const double candidate_cost = total_cost(pairs, which, camera, candidate, scale_squared);
      if (!(candidate_cost < cost)) continue;
      better = true;
      gain = cost - candidate_cost;
      view = candidate;
      cost = candidate_cost;
      damping *= 1e-3;  // the loop's own step leaves a hundredth
    }
    if (!better || gain < 1e-8 * cost) break;
  }
  return view;
}

}  // namespace skyfix::solve
