// Ties a map photo's features to its COLMAP observations, so that map points carry descriptors of
// the photos that see them.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "skyfix/features/local_features.h"

namespace skyfix {

struct TieOptions {
  double radius_px = 2.0;  // at most this far from the observation
  // Several orientations or scales of one place may all be kept (each carries a descriptor).
  int max_per_observation = 4;
};

struct Tie {
  std::uint32_t feature = 0;
  std::uint32_t observation = 0;
  float distance_px = 0;
};

// Every feature goes to its nearest observation within the radius; an observation keeps the
// nearest max_per_observation features (ties to the stronger, then lower index). Sorted by
// observation, then distance.
std::vector<Tie> tie_features(const FeatureSet& features,
                              std::span<const Eigen::Vector2d> observations,
                              const TieOptions& options = {});

}  // namespace skyfix
