// Fast scores of many views over the same pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {

// Scores as consensus() does (but for rare ties between pairs that share points and pixels), and
// gives up early on a view that cannot, or most likely does not, beat the best one.
class Scorer {
 public:
  // Keeps references to `pairs` and `camera`.
  Scorer(const PairSet& pairs, const Camera& camera, double max_error_px, std::uint64_t seed);

  struct Score {
    double score = 0;
    int inliers = 0;
    bool complete = false;  // false: given up
  };
  Score score(const View& view, double best_score, int best_inliers);

 private:
  double credit(std::uint32_t pair, double gain);

  const PairSet& pairs_;
  const Camera& camera_;
  double limit_;
  std::vector<std::uint32_t> order_;  // random: any beginning of it is a fair sample
  bool shared_ = false;               // some pairs share a map point or a pixel
  std::vector<double> group_gain_;    // of the view being scored; cleared through touched_
  std::vector<double> pixel_gain_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace skyfix::solve
