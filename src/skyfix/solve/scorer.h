// Fast scores of many views over the same pairs.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {

// Scores as consensus() does (but for rare ties between pairs that share points and pixels), and
// gives up early on a view that cannot, or most likely does not, come up to what is wanted.
class Scorer {
 public:
  // `rays`: one a pair, unit, zero where the pixel has none. Keeps references to `pairs` and
  // `camera`.
  Scorer(const PairSet& pairs, const Camera& camera, std::span<const Eigen::Vector3d> rays,
         double max_error_px, std::uint64_t seed);

  struct Score {
    double score = 0;
    bool complete = false;  // false: given up
  };
  // Gives up once a score above `best_score` is out of reach, or `wanted_inliers` is improbable.
  Score score(const View& view, double best_score, double wanted_inliers);

 private:
  // What the test before projection needs, in scoring order.
  struct Entry {
    Eigen::Vector3d point;
    Eigen::Vector3d ray;
    double sine_squared;  // beyond this angle to the ray a point cannot be an inlier
    std::uint32_t pair;
  };

  double credit(std::uint32_t pair, double gain);

  const PairSet& pairs_;
  const Camera& camera_;
  double limit_;
  std::vector<Entry> entries_;      // in random order: any beginning is a fair sample
  bool distinct_;                   // no pairs share a map point or a pixel
  std::vector<double> group_gain_;  // of the view being scored; cleared through touched_
  std::vector<double> pixel_gain_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace skyfix::solve
