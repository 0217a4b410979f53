#include "skyfix/solve/polish.h"

#include <cmath>
#include <utility>

#include "skyfix/solve/covariance.h"
#include "skyfix/solve/planar.h"

namespace skyfix::solve {

BundleProblem bundle_of(const PairSet& pairs, const Consensus& seen, const Camera& camera,
                        const View& view, const PoseOptions& options) {
  BundleProblem problem;
  problem.refine_focal = options.refine_focal;
  BundleFrame frame{camera, view, {}};
  frame.observations.reserve(seen.inliers.size());
  for (const std::uint32_t i : seen.inliers) {
    frame.observations.push_back({pairs.pixel[i], pairs.point[i], pairs.sigma_px[i], -1});
  }
  problem.frames.push_back(std::move(frame));
  problem.loss_scale = fitting_loss_scale(problem, options.refine_scale_px);
  return problem;
}

std::optional<Polished> polish(const PairSet& pairs, const Camera& camera, const View& start,
                               const PoseOptions& options) {
  constexpr int kRounds = 5;
  if (!start.finite()) return std::nullopt;
  Polished out{camera, start, consensus(pairs, camera, start, options.max_error_px)};
  for (int round = 0; round < kRounds && out.seen.count() >= options.min_inliers; ++round) {
    BundleProblem problem = bundle_of(pairs, out.seen, out.camera, out.view, options);
    if (!adjust(&problem)) break;
    const BundleFrame& frame = problem.frames.front();
    Consensus seen = consensus(pairs, frame.camera, frame.view, options.max_error_px);
    // The robust optimum may leave borderline pairs out, but not half of what it came from.
    if (2 * seen.count() < out.seen.count()) break;
    // The loss was fitted to the residuals of the start: a poor one makes it too forgiving.
    const double scale_now = fitting_loss_scale(problem, options.refine_scale_px);
    const bool settled = seen.inliers == out.seen.inliers && problem.loss_scale < 1.1 * scale_now;
    out = {frame.camera, frame.view, std::move(seen)};
    if (settled) break;
  }
  if (out.seen.count() < options.min_inliers) return std::nullopt;
  return out;
}

PoseEstimate no_estimate(std::size_t pair_count, const Camera& camera) {
  PoseEstimate out;
  out.camera = camera;
  out.inlier.assign(pair_count, 0);
  return out;
}

PoseEstimate describe(const PairSet& pairs, std::size_t pair_count, const Polished& polished,
                      const BundleProblem& problem) {
  PoseEstimate out = no_estimate(pair_count, polished.camera);
  out.found = true;
  out.cam_from_map = pose_from_view(polished.view);
  std::vector<double> errors;
  for (const std::uint32_t i : polished.seen.inliers) {
    out.inlier[pairs.source[i]] = 1;
    errors.push_back(std::sqrt(
        squared_error_px(polished.camera, polished.view, pairs.point[i], pairs.pixel[i])));
  }
  out.inlier_count = polished.seen.count();
  out.rms_px = polished.seen.rms_px();
  out.median_error_px = median(std::move(errors));
  out.planar = plane_of(pairs, polished.seen.inliers, polished.camera, polished.view, out.rms_px)
                   .has_value();
  out.covariance_map = last_view_covariance(problem);
  return out;
}

}  // namespace skyfix::solve
