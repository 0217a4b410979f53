#include "skyfix/solve/scorer.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "skyfix/solve/sampler.h"

namespace skyfix::solve {
namespace {

constexpr std::size_t kFirstLook = 64;

// After `seen` of `all` pairs, `inliers` are so few that a view with `wanted` of them would show so
// few less than once in hundreds: three standard deviations of a Poisson count.
bool hopeless(std::size_t seen, int inliers, std::size_t all, double wanted) {
  return inliers + 1 + 3 * std::sqrt(inliers + 1.0) < wanted * seen / all;
}

// Square of the sine of the angle about a ray beyond which points project more than max_error_px
// from it: by the camera's least magnification there, with room for its change over that distance.
// One where the camera does not say.
double widest_sine_squared(const Camera& camera, const Eigen::Vector3d& ray, double max_error_px) {
  constexpr double kRoom = 2;
  Matrix23 by_point;
  if (!camera.project(ray, &by_point, nullptr) || !by_point.allFinite()) return 1;
  // Moving along the ray changes nothing: the rank is 2, and the least value is of 2 x 2.
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> eigen(
      Eigen::Matrix2d(by_point * by_point.transpose()), Eigen::EigenvaluesOnly);
  const double least = eigen.eigenvalues()[0];
  if (!(least > 0)) return 1;
  return std::min(1.0, kRoom * kRoom * max_error_px * max_error_px / least);
}

}  // namespace

Scorer::Scorer(const PairSet& pairs, const Camera& camera, std::span<const Eigen::Vector3d> rays,
               double max_error_px, std::uint64_t seed)
    : pairs_(pairs),
      camera_(camera),
      limit_(max_error_px * max_error_px),
      distinct_(pairs.all_distinct()) {
  std::vector<std::uint32_t> order(pairs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 random(seed);
  shuffle(order, &random);
  entries_.reserve(order.size());
  for (const std::uint32_t i : order) {
    entries_.push_back(
        {pairs.point[i], rays[i], widest_sine_squared(camera, rays[i], max_error_px), i});
  }
  if (!distinct_) {
    group_gain_.resize(pairs.group_count);
    pixel_gain_.resize(pairs.pixel_count);
  }
}

// What `pair` adds beyond the better of the pairs already counted for its map point and its pixel.
double Scorer::credit(std::uint32_t pair, double gain) {
  double& group = group_gain_[pairs_.group[pair]];
  double& pixel = pixel_gain_[pairs_.pixel_id[pair]];
  const double added = std::max(0.0, gain - std::max(group, pixel));
  group = std::max(group, gain);
  pixel = std::max(pixel, gain);
  touched_.push_back(pair);
  return added;
}

Scorer::Score Scorer::score(const View& view, double best_score, double wanted_inliers) {
  Score out;
  const std::size_t all = entries_.size();
  std::size_t next_look = kFirstLook;
  int inliers = 0;
  std::size_t k = 0;
  for (; k < all; ++k) {
    if (k == next_look) {
      if (hopeless(k, inliers, all, wanted_inliers)) break;
      next_look *= 2;
    }
    if (out.score + static_cast<double>(all - k) <= best_score) break;
    const Entry& entry = entries_[k];
    const Eigen::Vector3d seen = view.to_camera(entry.point);
    if (seen.cross(entry.ray).squaredNorm() > entry.sine_squared * seen.squaredNorm()) continue;
    const double squared = squared_error_px(camera_, view, entry.point, pairs_.pixel[entry.pair]);
    if (!(squared <= limit_)) continue;
    ++inliers;
    const double gain = 1 - squared / limit_;
    out.score += distinct_ ? gain : credit(entry.pair, gain);
  }
  out.complete = k == all;
  for (const std::uint32_t i : touched_) {
    group_gain_[pairs_.group[i]] = 0;
    pixel_gain_[pairs_.pixel_id[i]] = 0;
  }
  touched_.clear();
  return out;
}

}  // namespace skyfix::solve
