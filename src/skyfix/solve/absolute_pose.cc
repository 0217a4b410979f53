#include "skyfix/solve/absolute_pose.h"

#include <utility>

#include "skyfix/solve/alternative.h"
#include "skyfix/solve/pair_set.h"
#include "skyfix/solve/polish.h"
#include "skyfix/solve/ransac.h"

namespace skyfix {
namespace {

using solve::PairSet;
using solve::Polished;

// The second solution over a plane deserves a word while its error is this near to the first's.
constexpr double kAmbiguousShare = 1.2;
constexpr double kExactPx = 1e-6;  // errors below it are rounding

Alternative alternative_from(const Polished& pose) {
  return {solve::pose_from_view(pose.view), pose.seen.count(), pose.seen.rms_px()};
}

// Puts the better of a plane's two solutions first; returns the other if it is worth telling.
std::optional<Polished> settle_plane(const PairSet& pairs, const PoseOptions& options,
                                     Polished* best) {
  std::optional<Polished> other = solve::mirrored_solution(pairs, *best, options);
  if (!other) return std::nullopt;
  const auto inliers = best->seen.inliers;
  double best_rms = solve::rms_over(pairs, inliers, *best);
  double other_rms = solve::rms_over(pairs, inliers, *other);
  if (other_rms < best_rms && other->seen.score > best->seen.score) {
    std::swap(*best, *other);
    std::swap(best_rms, other_rms);
  }
  if (other_rms > kAmbiguousShare * best_rms + kExactPx) return std::nullopt;
  return other;
}

std::optional<Alternative> strongest(const std::optional<Polished>& a,
                                     const std::optional<Polished>& b) {
  if (!a && !b) return std::nullopt;
  if (!b || (a && a->seen.count() >= b->seen.count())) return alternative_from(*a);
  return alternative_from(*b);
}

PoseEstimate described(const PairSet& pairs, std::size_t pair_count, const Polished& pose,
                       const PoseOptions& options) {
  return describe(pairs, pair_count, pose,
                  solve::bundle_of(pairs, pose.seen, pose.camera, pose.view, options));
}

}  // namespace

PoseEstimate estimate_pose(std::span<const PointPair> pairs, const Camera& camera,
                           const PoseOptions& options) {
  options.validate();
  const PairSet usable = solve::usable_pairs(pairs);
  PoseEstimate none = solve::no_estimate(pairs.size(), camera);
  const auto enough = static_cast<std::size_t>(options.min_inliers);
  if (usable.group_count < enough || usable.pixel_count < enough) return none;
  const solve::RansacResult found = solve::ransac(usable, camera, options);
  none.iterations = found.iterations;
  if (!found.view) return none;
  std::optional<Polished> best = solve::polish(usable, camera, *found.view, options);
  if (!best) return none;
  const std::optional<Polished> mirrored = settle_plane(usable, options, &*best);
  const std::optional<Polished> second = solve::second_consensus(usable, *best, options);
  PoseEstimate out = described(usable, pairs.size(), *best, options);
  out.alternative = strongest(mirrored, second);
  out.iterations = found.iterations;
  return out;
}

PoseEstimate refine_pose(std::span<const PointPair> pairs, const Camera& camera,
                         const Rigid3& initial, const PoseOptions& options) {
  options.validate();
  const PairSet usable = solve::usable_pairs(pairs);
  const std::optional<Polished> best =
      solve::polish(usable, camera, solve::view_from_pose(initial), options);
  if (!best) return solve::no_estimate(pairs.size(), camera);
  return described(usable, pairs.size(), *best, options);
}

}  // namespace skyfix
