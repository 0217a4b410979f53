#include "skyfix/solve/scorer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skyfix/solve/sampler.h"

namespace skyfix::solve {
namespace {

constexpr std::size_t kFirstLook = 64;

// After `seen` of `all` pairs, `inliers` are so few that a view as good as the best would show them
// less than once in hundreds: three standard deviations of a Poisson count.
bool hopeless(std::size_t seen, int inliers, std::size_t all, int best_inliers) {
  const double wanted = static_cast<double>(best_inliers) * seen / all;
  return inliers + 1 + 3 * std::sqrt(inliers + 1.0) < wanted;
}

}  // namespace

Scorer::Scorer(const PairSet& pairs, const Camera& camera, double max_error_px, std::uint64_t seed)
    : pairs_(pairs),
      camera_(camera),
      limit_(max_error_px * max_error_px),
      order_(pairs.size()),
      shared_(pairs.group_count < pairs.size() || pairs.pixel_count < pairs.size()) {
  std::iota(order_.begin(), order_.end(), 0u);
  std::mt19937_64 random(seed);
  shuffle(order_, &random);
  if (shared_) {
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

Scorer::Score Scorer::score(const View& view, double best_score, int best_inliers) {
  Score out;
  const std::size_t all = order_.size();
  std::size_t next_look = kFirstLook;
  std::size_t k = 0;
  for (; k < all; ++k) {
    if (k == next_look) {
      if (hopeless(k, out.inliers, all, best_inliers)) break;
      next_look *= 2;
    }
    if (out.score + static_cast<double>(all - k) <= best_score) break;
    const std::uint32_t i = order_[k];
    const double squared = squared_error_px(camera_, view, pairs_.point[i], pairs_.pixel[i]);
    if (!(squared <= limit_)) continue;
    ++out.inliers;
    const double gain = 1 - squared / limit_;
    out.score += shared_ ? credit(i, gain) : gain;
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
