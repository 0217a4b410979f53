// The pairs a solver may use, laid out for it, and which of them a view explains.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "skyfix/geo/camera.h"
#include "skyfix/solve/absolute_pose.h"
#include "skyfix/solve/view.h"

namespace skyfix::solve {

// Pairs that are finite with a positive sigma, in the order given. Groups and pixels are numbered
// densely: pairs of one map point share `group`, pairs of one pixel share `pixel_id`.
struct PairSet {
  std::vector<std::uint32_t> source;  // place in the caller's list
  std::vector<Eigen::Vector2d> pixel;
  std::vector<Eigen::Vector3d> point;
  std::vector<double> sigma_px;
  std::vector<double> quality;  // never NaN
  std::vector<std::uint32_t> group;
  std::vector<std::uint32_t> pixel_id;
  std::size_t group_count = 0;
  std::size_t pixel_count = 0;

  std::size_t size() const { return source.size(); }
  // No two pairs have a map point or a pixel in common.
  bool all_distinct() const { return group_count == size() && pixel_count == size(); }
};

PairSet usable_pairs(std::span<const PointPair> pairs);
// The pairs where keep[i] is not zero, numbered anew.
PairSet pairs_where(const PairSet& pairs, std::span<const std::uint8_t> keep);

// What a view explains. A map point seen at two pixels, or a pixel paired with two map points,
// counts once, by its better pair: `inlier` marks only pairs that count.
struct Consensus {
  std::vector<std::uint32_t> inliers;  // ascending places in the PairSet
  double score = 0;                    // sum of 1 - (error / threshold)^2 (MSAC, as a gain)
  double squared_sum_px = 0;

  int count() const { return static_cast<int>(inliers.size()); }
  double rms_px() const;
};
Consensus consensus(const PairSet& pairs, const Camera& camera, const View& view,
                    double max_error_px);

// Median distance along the optical axis of the given pairs' points; the scene's distance.
double median_depth(const PairSet& pairs, std::span<const std::uint32_t> which, const View& view);
double median(std::vector<double> values);  // 0 when empty

}  // namespace skyfix::solve
