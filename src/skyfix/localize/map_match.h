// From a frame's features and its candidates to 2D-3D pairs: exact mutual nearest neighbours over
// the candidates' map-point descriptors, then, once a pose is known, a guided search for the points
// that ought to be visible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skyfix/features/local_features.h"
#include "skyfix/geo/camera.h"
#include "skyfix/map/map_folder.h"
#include "skyfix/match/pool_matcher.h"
#include "skyfix/solve/absolute_pose.h"

namespace skyfix {

// The descriptors of the candidates' map points, gathered into one matrix for the guided search.
struct CandidatePool {
  int dimension = 0;
  std::vector<float> descriptors;    // [rows, dimension]
  std::vector<std::uint32_t> point;  // [rows] map point index
  std::vector<std::uint32_t> image;  // [rows] map image index
};
CandidatePool gather_candidates(const MapFeatures& features, std::span<const std::uint32_t> images);

// A 2D-3D pair with where it came from.
struct MapPair {
  std::uint32_t feature = 0;  // index into the frame's features: one place of the photo
  float x = 0;                // of that place, px of the photo as stored
  float y = 0;
  std::uint32_t point = 0;  // map point index
  std::uint32_t image = 0;  // map image whose descriptor matched
  float score = 0;          // dot product
  float margin = 0;         // score minus the best of another map point
};

// The candidates' rows where the map has them, for the matcher: key = map image index, group = map
// point. They refer to the features' memory.
std::vector<PoolReference> candidate_references(const MapFeatures& features,
                                                std::span<const std::uint32_t> images);

struct MapMatches {
  // Mutual nearest neighbours, the best `max_pairs` by margin (0 = all), sorted by falling margin,
  // ties by feature index.
  std::vector<MapPair> pairs;
  RetryReport retries;
};
// Throws as PoolMatcher::match.
MapMatches match_to_map(const FeatureSet& features, std::span<const PoolReference> references,
                        int max_pairs, PoolMatcher& matcher);

struct GuidedOptions {
  double radius_px = 5;
  double min_score = 0.75;  // RootSIFT dot product; unrelated places reach about 0.6
};

struct GuidedMatches {
  std::vector<MapPair> pairs;  // by falling score; each feature and each point at most once
  int expected = 0;            // points of the pool that project into the picture
  RetryReport retries = {};
};

// For every map point of the pool that projects into the picture: the feature within the radius
// whose descriptor is most like one of the point's, if it is like enough.
GuidedMatches match_guided(const FeatureSet& features, const CandidatePool& pool, const Map& map,
                           const Camera& camera, const Rigid3& cam_from_map,
                           const GuidedOptions& options);

// Keeps, of pairs that claim the same feature, the one with the highest score (ties to the lower
// point); best first.
std::vector<MapPair> settle_features(std::vector<MapPair> pairs);
// Keeps, of pairs with the same map point, the one with the highest score; best first.
std::vector<MapPair> settle_points(std::vector<MapPair> pairs);

// The solver's view of pairs.
std::vector<PointPair> solver_pairs(std::span<const MapPair> pairs, const Map& map);

}  // namespace skyfix
