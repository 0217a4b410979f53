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
      : pairs_(pairs), camera_(camera), options_(options), rays_(pairs.size()) {
    unproject_all();
    scorer_.emplace(pairs, camera, rays_, options.max_error_px, options.seed);
  }

  RansacResult run();

 private:
  void unproject_all();
  void try_sample(const std::array<std::uint32_t, 3>& sample, double fewest_inliers);
  void consider(const View& view, const Consensus& seen);
  void optimise(View view);

  const PairSet& pairs_;
  const Camera& camera_;
  const PoseOptions& options_;
  std::vector<Eigen::Vector3d> rays_;
  std::vector<std::uint32_t> drawable_;  // the pairs that have a ray
  std::optional<Scorer> scorer_;
  std::optional<View> best_;
  double best_score_ = 0;
  int best_inliers_ = 0;
  double best_raw_score_ = 0;  // before local optimisation: what starts the next one
};

void Ransac::unproject_all() {
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) {
    const std::optional<Eigen::Vector3d> ray = camera_.unproject(pairs_.pixel[i]);
    const bool usable = ray && ray->allFinite();
    rays_[i] = usable ? *ray : Eigen::Vector3d::Zero();
    if (usable) drawable_.push_back(i);
  }
}

void Ransac::consider(const View& view, const Consensus& seen) {
  if (best_ && seen.score <= best_score_) return;
  best_ = view;
  best_score_ = seen.score;
  best_inliers_ = seen.count();
}

// Rounds over inliers of a wide, then of the wanted threshold. What comes out is judged by its
// exact consensus.
void Ransac::optimise(View view) {
  constexpr std::size_t kEnoughPairs = 300;
  constexpr double kWide = 1.5;
  const double scale_px = options_.max_error_px / 3;
  Consensus seen = consensus(pairs_, camera_, view, kWide * options_.max_error_px);
  for (int round = 0; round < 2 && seen.count() >= 3; ++round) {
    std::vector<std::uint32_t> some;
    const std::size_t stride = (seen.inliers.size() + kEnoughPairs - 1) / kEnoughPairs;
    for (std::size_t k = 0; k < seen.inliers.size(); k += stride) some.push_back(seen.inliers[k]);
    view = local_refine(pairs_, some, camera_, view, scale_px, 4);
    seen = consensus(pairs_, camera_, view, options_.max_error_px);
    consider(view, seen);
  }
}

void Ransac::try_sample(const std::array<std::uint32_t, 3>& sample, double fewest_inliers) {
  const auto [a, b, c] = sample;
  std::array<View, 4> views;
  const int count = solve_p3p({rays_[a], rays_[b], rays_[c]},
                              {pairs_.point[a], pairs_.point[b], pairs_.point[c]}, &views);
  for (int k = 0; k < count; ++k) {
    // A raw view has the noise of its three pairs in it: it competes with raw views, and only an
    // optimised one with the best.
    const double wanted_inliers = std::max(fewest_inliers, 0.5 * best_inliers_);
    const Scorer::Score raw = scorer_->score(views[k], best_raw_score_, wanted_inliers);
    if (!raw.complete || raw.score <= best_raw_score_) continue;
    best_raw_score_ = raw.score;
    const double optimised_before = best_score_;
    optimise(views[k]);
    if (best_score_ <= optimised_before) {
      consider(views[k], consensus(pairs_, camera_, views[k], options_.max_error_px));
    }
  }
}

RansacResult Ransac::run() {
  RansacResult out;
  if (drawable_.size() < 3) return out;
  const double pool = static_cast<double>(drawable_.size());
  // Fewer inliers than half of what max_iterations uniform samples find once on average are not
  // waited for: among thousands of wrong pairs that is most of the time.
  const double findable = 0.5 * pool / std::cbrt(options_.max_iterations);
  Sampler sampler(pairs_, drawable_, options_.seed);
  std::array<std::uint32_t, 3> sample;
  while (out.iterations < options_.max_iterations) {
    if (sampler.uniform_draws() >= draws_needed(best_inliers_ / pool, options_.confidence)) break;
    ++out.iterations;
    const int uniform_before = sampler.uniform_draws();
    if (!sampler.draw(&sample)) continue;
    try_sample(sample, sampler.uniform_draws() > uniform_before ? findable : 0);
  }
  out.view = best_;
  return out;
}

}  // namespace

RansacResult ransac(const PairSet& pairs, const Camera& camera, const PoseOptions& options) {
  return Ransac(pairs, camera, options).run();
}

}  // namespace skyfix::solve
