#include "skyfix/solve/ransac.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skyfix/solve/local_refine.h"
#include "skyfix/solve/p3p.h"
#include "skyfix/solve/sampler.h"
#include "skyfix/solve/scorer.h"

namespace skyfix::solve {
namespace {

// Even where the first sample explains all, a few more are cheap beside a wrong pose.
constexpr int kFewestUniformDraws = 30;

// Uniform samples after which one of three true inliers was met with the given confidence.
double draws_needed(double inlier_share, double confidence) {
  const double all_true = std::pow(std::clamp(inlier_share, 0.0, 1.0), 3);
  if (all_true >= 1) return kFewestUniformDraws;
  if (all_true < 1e-15) return std::numeric_limits<double>::infinity();
  return std::max<double>(kFewestUniformDraws, std::log1p(-confidence) / std::log1p(-all_true));
}

class Ransac {
 public:
  Ransac(const PairSet& pairs, const Camera& camera, const PoseOptions& options)
      : pairs_(pairs),
        camera_(camera),
        options_(options),
        rays_(pairs.size()),
        scorer_(pairs, camera, options.max_error_px, options.seed) {}

  RansacResult run();

 private:
  std::vector<std::uint32_t> unproject_all();
  void try_sample(const std::array<std::uint32_t, 3>& sample);
  void optimise(View view);

  const PairSet& pairs_;
  const Camera& camera_;
  const PoseOptions& options_;
  std::vector<Eigen::Vector3d> rays_;
  Scorer scorer_;
  std::optional<View> best_;
  double best_score_ = 0;
  int best_inliers_ = 0;
  double best_raw_score_ = 0;  // before local optimisation: what starts the next one
};

// Rays of all pixels; the places of those that have one.
std::vector<std::uint32_t> Ransac::unproject_all() {
  std::vector<std::uint32_t> drawable;
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
    const std::optional<Eigen::Vector3d> ray = camera_.unproject(pairs_.pixel[i]);
    if (!ray || !ray->allFinite()) continue;
    rays_[i] = *ray;
    drawable.push_back(i);
  }
  return drawable;
}

// Rounds over inliers of a wide, then of the wanted threshold. Whatever comes out is judged by its
// exact consensus.
void Ransac::optimise(View view) {
  constexpr std::size_t kEnoughPairs = 300;
  const double scale_px = options_.max_error_px / 3;
  for (const double widen : {1.5, 1.0, 1.0}) {
    Consensus seen = consensus(pairs_, camera_, view, widen * options_.max_error_px);
    if (seen.count() < 3) return;
    std::vector<std::uint32_t> some;
    const std::size_t stride = (seen.inliers.size() + kEnoughPairs - 1) / kEnoughPairs;
    for (std::size_t k = 0; k < seen.inliers.size(); k += stride) some.push_back(seen.inliers[k]);
    const View start = view;
    view = local_refine(pairs_, some, camera_, start, scale_px, 4);
    const Consensus now = consensus(pairs_, camera_, view, options_.max_error_px);
    if (now.score > best_score_) {
      best_ = view;
      best_score_ = now.score;
      best_inliers_ = now.count();
    }
  }
}

void Ransac::try_sample(const std::array<std::uint32_t, 3>& sample) {
  const auto [a, b, c] = sample;
  std::array<View, 4> views;
  const int count = solve_p3p({rays_[a], rays_[b], rays_[c]},
                              {pairs_.point[a], pairs_.point[b], pairs_.point[c]}, &views);
  for (int k = 0; k < count; ++k) {
    // A raw view has the noise of its three pairs in it: it competes with raw views, and only an
    // optimised one with the best.
    const Scorer::Score raw = scorer_.score(views[k], best_raw_score_, best_inliers_ / 2);
    if (!raw.complete || raw.score <= best_raw_score_) continue;
    best_raw_score_ = raw.score;
    if (!best_) best_ = views[k];
    const Consensus exact = consensus(pairs_, camera_, views[k], options_.max_error_px);
    if (exact.score > best_score_) {
      best_ = views[k];
      best_score_ = exact.score;
      best_inliers_ = exact.count();
    }
    optimise(views[k]);
  }
}

RansacResult Ransac::run() {
  RansacResult out;
  std::vector<std::uint32_t> drawable = unproject_all();
  if (drawable.size() < 3) return out;
  const double pool = static_cast<double>(drawable.size());
  Sampler sampler(pairs_, std::move(drawable), options_.seed);
  std::array<std::uint32_t, 3> sample;
  while (out.iterations < options_.max_iterations) {
    if (sampler.uniform_draws() >= draws_needed(best_inliers_ / pool, options_.confidence)) break;
    ++out.iterations;
    if (sampler.draw(&sample)) try_sample(sample);
  }
  out.view = best_;
  return out;
}

}  // namespace

RansacResult ransac(const PairSet& pairs, const Camera& camera, const PoseOptions& options) {
  return Ransac(pairs, camera, options).run();
}

}  // namespace skyfix::solve
