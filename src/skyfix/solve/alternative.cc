#include "skyfix/solve/alternative.h"

#include <algorithm>
#include <cmath>

#include "skyfix/solve/local_refine.h"
#include "skyfix/solve/planar.h"
#include "skyfix/solve/ransac.h"

namespace skyfix::solve {
namespace {

bool another_answer(const PairSet& pairs, const Polished& best, const Polished& other) {
  const double distance = std::abs(median_depth(pairs, best.seen.inliers, best.view));
  return clearly_different(best.view, other.view, distance);
}

}  // namespace

double rms_over(const PairSet& pairs, std::span<const std::uint32_t> which, const Polished& pose) {
  if (which.empty()) return 0;
  double sum = 0;
  for (const std::uint32_t i : which) {
    sum += squared_error_px(pose.camera, pose.view, pairs.point[i], pairs.pixel[i]);
  }
  return std::sqrt(sum / static_cast<double>(which.size()));
}

std::optional<Polished> mirrored_solution(const PairSet& pairs, const Polished& best,
                                          const PoseOptions& options) {
  const std::optional<Plane> plane =
      plane_of(pairs, best.seen.inliers, best.camera, best.view, best.seen.rms_px());
  if (!plane) return std::nullopt;
  const View start = mirrored_view(best.view, *plane);
  // A scale beyond any inlier's error: the whole plane has to follow, not the pairs that fit first.
  const View view =
      local_refine(pairs, best.seen.inliers, best.camera, start, 10 * options.max_error_px, 30);
  std::optional<Polished> other = polish(pairs, best.camera, view, options);
  if (!other || !another_answer(pairs, best, *other)) return std::nullopt;
  return other;
}

std::optional<Polished> second_consensus(const PairSet& pairs, const Polished& best,
                                         const PoseOptions& options) {
  constexpr int kMostIterations = 500;
  std::vector<std::uint8_t> rest(pairs.size(), 1);
  for (const std::uint32_t i : best.seen.inliers) rest[i] = 0;
  const PairSet others = pairs_where(pairs, rest);
  if (static_cast<int>(others.size()) < options.min_inliers) return std::nullopt;
  PoseOptions bounded = options;
  bounded.refine_focal = false;
  bounded.max_iterations = std::min(options.max_iterations, kMostIterations);
  const RansacResult found = ransac(others, best.camera, bounded);
  if (!found.view) return std::nullopt;
  // Polished over the rest alone: with all pairs it could slide back to the best pose.
  std::optional<Polished> second = polish(others, best.camera, *found.view, bounded);
  if (!second) return std::nullopt;
  second->seen = consensus(pairs, best.camera, second->view, options.max_error_px);
  if (!another_answer(pairs, best, *second)) return std::nullopt;
  return second;
}

}  // namespace skyfix::solve
