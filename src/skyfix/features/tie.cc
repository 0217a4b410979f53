#include "skyfix/features/tie.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace skyfix {
namespace {

// Observations sorted by y, so that those within a radius of a feature are found in a narrow band.
class ByRow {
 public:
  explicit ByRow(std::span<const Eigen::Vector2d> observations) : observations_(observations) {
    for (std::uint32_t i = 0; i < observations.size(); ++i) {
      if (observations[i].allFinite()) order_.push_back(i);
    }
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(observations_[a].y(), a) < std::tuple(observations_[b].y(), b);
    });
  }

  // The nearest observation within the radius (ties to the lowest index) and its distance.
  std::optional<std::pair<std::uint32_t, double>> nearest(const Eigen::Vector2d& pixel,
                                                          double radius_px) const {
    auto it = std::lower_bound(order_.begin(), order_.end(), pixel.y() - radius_px,
                               [&](std::uint32_t i, double y) { return observations_[i].y() < y; });
    std::optional<std::pair<std::uint32_t, double>> best;
    for (; it != order_.end() && observations_[*it].y() <= pixel.y() + radius_px; ++it) {
      const double distance = (observations_[*it] - pixel).norm();
      if (distance > radius_px) continue;
      if (!best || std::tuple(distance, *it) < std::tuple(best->second, best->first)) {
        best.emplace(*it, distance);
      }
    }
    return best;
  }

 private:
  std::span<const Eigen::Vector2d> observations_;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<Tie> tie_features(const FeatureSet& features,
                              std::span<const Eigen::Vector2d> observations,
                              const TieOptions& options) {
  const ByRow by_row(observations);
  std::vector<Tie> ties;
  for (std::uint32_t i = 0; i < features.keypoints.size(); ++i) {
    const Keypoint& keypoint = features.keypoints[i];
    const auto nearest = by_row.nearest(Eigen::Vector2d(keypoint.x, keypoint.y), options.radius_px);
    if (nearest) ties.push_back({i, nearest->first, float(nearest->second)});
  }
  const auto key = [&](const Tie& tie) {
    return std::tuple(tie.observation, tie.distance_px, -features.keypoints[tie.feature].response,
                      tie.feature);
  };
  std::sort(ties.begin(), ties.end(), [&](const Tie& a, const Tie& b) { return key(a) < key(b); });

  std::vector<Tie> kept;
  int of_this_observation = 0;
  for (const Tie& tie : ties) {
    const bool same = !kept.empty() && kept.back().observation == tie.observation;
    of_this_observation = same ? of_this_observation + 1 : 1;
    if (of_this_observation <= options.max_per_observation) kept.push_back(tie);
  }
  return kept;
}

}  // namespace skyfix
