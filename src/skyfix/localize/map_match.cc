#include "skyfix/localize/map_match.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>

#include "skyfix/base/parallel.h"
#include "skyfix/localize/dot_product.h"

namespace skyfix {
namespace {

// Features sorted into square cells, for searches around a pixel.
class FeatureGrid {
 public:
  FeatureGrid(const FeatureSet& features, int width, int height, double cell_px)
      : features_(features), cell_px_(cell_px) {
    columns_ = static_cast<int>(width / cell_px) + 1;
    rows_ = static_cast<int>(height / cell_px) + 1;
    start_.assign(static_cast<std::size_t>(columns_) * rows_ + 1, 0);
    for (const Keypoint& keypoint : features.keypoints) ++start_[cell(keypoint.x, keypoint.y) + 1];
    std::partial_sum(start_.begin(), start_.end(), start_.begin());
    order_.resize(features.keypoints.size());
    std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      const Keypoint& keypoint = features.keypoints[i];
      order_[next[cell(keypoint.x, keypoint.y)]++] = i;
    }
  }

  // Calls visit(feature index) for all features within `radius` (at most one cell) of `pixel`.
  template <class Visit>
  void around(const Eigen::Vector2d& pixel, double radius, Visit visit) const {
    const int column = clamp_column(pixel.x());
    const int row = clamp_row(pixel.y());
    for (int y = std::max(0, row - 1); y <= std::min(rows_ - 1, row + 1); ++y) {
      for (int x = std::max(0, column - 1); x <= std::min(columns_ - 1, column + 1); ++x) {
        const std::size_t c = static_cast<std::size_t>(y) * columns_ + x;
        for (std::uint32_t k = start_[c]; k < start_[c + 1]; ++k) {
          const Keypoint& keypoint = features_.keypoints[order_[k]];
          const Eigen::Vector2d off(keypoint.x - pixel.x(), keypoint.y - pixel.y());
          if (off.squaredNorm() <= radius * radius) visit(order_[k]);
        }
      }
    }
  }

 private:
  int clamp_column(double x) const {
    return std::clamp(static_cast<int>(x / cell_px_), 0, columns_ - 1);
  }
  int clamp_row(double y) const { return std::clamp(static_cast<int>(y / cell_px_), 0, rows_ - 1); }
  std::size_t cell(double x, double y) const {
    return static_cast<std::size_t>(clamp_row(y)) * columns_ + clamp_column(x);
  }

  const FeatureSet& features_;
  double cell_px_;
  int columns_ = 0;
  int rows_ = 0;
  std::vector<std::uint32_t> start_;
  std::vector<std::uint32_t> order_;
};

// The pool's rows sorted by map point: rows of one point stand together.
struct PointRows {
  std::vector<std::uint32_t> order;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;  // [begin, end) into order
};

PointRows rows_by_point(const CandidatePool& pool) {
  PointRows rows;
  rows.order.resize(pool.point.size());
  std::iota(rows.order.begin(), rows.order.end(), 0);
  std::stable_sort(rows.order.begin(), rows.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return pool.point[a] < pool.point[b]; });
  for (std::uint32_t begin = 0; begin < rows.order.size();) {
    std::uint32_t end = begin + 1;
    while (end < rows.order.size() &&
           pool.point[rows.order[end]] == pool.point[rows.order[begin]]) {
      ++end;
    }
    rows.ranges.emplace_back(begin, end);
    begin = end;
  }
  return rows;
}

// Best first; of those with an equal key the first is kept.
std::vector<MapPair> settle(std::vector<MapPair> pairs, std::uint32_t MapPair::*key) {
  std::sort(pairs.begin(), pairs.end(), [](const MapPair& a, const MapPair& b) {
    if (a.score != b.score) return a.score > b.score;
    return std::pair(a.point, a.feature) < std::pair(b.point, b.feature);
  });
  std::unordered_set<std::uint32_t> taken;
  std::erase_if(pairs, [&](const MapPair& pair) { return !taken.insert(pair.*key).second; });
  return pairs;
}

}  // namespace

std::vector<MapPair> settle_features(std::vector<MapPair> pairs) {
  return settle(std::move(pairs), &MapPair::feature);
}

std::vector<MapPair> settle_points(std::vector<MapPair> pairs) {
  return settle(std::move(pairs), &MapPair::point);
}

CandidatePool gather_candidates(const MapFeatures& features,
                                std::span<const std::uint32_t> images) {
  CandidatePool pool;
  pool.dimension = features.dimension;
  std::size_t rows = 0;
  for (const std::uint32_t image : images)
    rows += features.offset[image + 1] - features.offset[image];
  pool.descriptors.reserve(rows * features.dimension);
  pool.point.reserve(rows);
  pool.image.reserve(rows);
  for (const std::uint32_t image : images) {
    const std::size_t begin = features.offset[image];
    const std::size_t end = features.offset[image + 1];
    const float* first = features.descriptor.data() + begin * features.dimension;
    pool.descriptors.insert(pool.descriptors.end(), first,
                            first + (end - begin) * features.dimension);
    pool.point.insert(pool.point.end(), features.point.begin() + begin,
                      features.point.begin() + end);
    pool.image.insert(pool.image.end(), end - begin, image);
  }
  return pool;
}

std::vector<PoolReference> candidate_references(const MapFeatures& features,
                                                std::span<const std::uint32_t> images) {
  std::vector<PoolReference> references;
  references.reserve(images.size());
  for (const std::uint32_t image : images) {
    const std::uint64_t begin = features.offset[image];
    const std::uint64_t rows = features.offset[image + 1] - begin;
    const DescriptorView view{features.descriptor.data() + begin * features.dimension,
                              static_cast<std::int64_t>(rows), features.dimension};
    references.push_back({image, view, features.point.subspan(begin, rows)});
  }
  return references;
}

MapMatches match_to_map(const FeatureSet& features, std::span<const PoolReference> references,
                        int max_pairs, PoolMatcher& matcher) {
  const DescriptorView query{features.descriptors.data(),
                             static_cast<std::int64_t>(features.keypoints.size()),
                             features.dimension};
  PoolMatches found = matcher.match(query, references);
  MapMatches matches;
  matches.retries = std::move(found.retries);
  matches.pairs.reserve(found.pairs.size());
  std::vector<std::int64_t> first_row;  // of each reference in the pool
  std::int64_t rows = 0;
  for (const PoolReference& reference : references) {
    first_row.push_back(rows);
    rows += reference.rows.rows;
  }
  for (std::size_t i = 0; i < found.pairs.size(); ++i) {
    const MutualPair& mutual = found.pairs[i];
    const auto next = std::upper_bound(first_row.begin(), first_row.end(), mutual.map);
    const std::size_t of = next - first_row.begin() - 1;
    MapPair pair;
    pair.feature = static_cast<std::uint32_t>(mutual.query);
    pair.x = features.keypoints[mutual.query].x;
    pair.y = features.keypoints[mutual.query].y;
    pair.point = references[of].group[mutual.map - first_row[of]];
    pair.image = static_cast<std::uint32_t>(references[of].key);
    pair.score = mutual.score;
    const float runner_up = found.runner_up[i];
    pair.margin = std::isfinite(runner_up) ? mutual.score - runner_up : mutual.score;
    matches.pairs.push_back(pair);
  }
  std::sort(matches.pairs.begin(), matches.pairs.end(), [](const MapPair& a, const MapPair& b) {
    if (a.margin != b.margin) return a.margin > b.margin;
    return a.feature < b.feature;
  });
  if (max_pairs > 0 && matches.pairs.size() > static_cast<std::size_t>(max_pairs)) {
    matches.pairs.resize(max_pairs);
  }
  return matches;
}

GuidedMatches match_guided(const FeatureSet& features, const CandidatePool& pool, const Map& map,
                           const Camera& camera, const Rigid3& cam_from_map,
                           const GuidedOptions& options) {
  const FeatureGrid grid(features, camera.width, camera.height, options.radius_px);
  const PointRows rows = rows_by_point(pool);
  struct Found {
    bool expected = false;
    MapPair pair;
  };
  std::vector<Found> found(rows.ranges.size());
  parallel_for(rows.ranges.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t first = rows.ranges[i].first;
      const std::uint32_t last = rows.ranges[i].second;
      const std::uint32_t point = pool.point[rows.order[first]];
      const auto pixel = camera.project(cam_from_map * map.point(point));
      if (!pixel || pixel->x() < 0 || pixel->y() < 0 || pixel->x() > camera.width ||
          pixel->y() > camera.height) {
        continue;
      }
      found[i].expected = true;
      MapPair best;
      best.score = static_cast<float>(options.min_score);
      bool any = false;
      grid.around(*pixel, options.radius_px, [&](std::uint32_t feature) {
        for (std::uint32_t k = first; k < last; ++k) {
          const std::uint32_t row = rows.order[k];
          const float score = dot_product(
              features.descriptor(feature),
              pool.descriptors.data() + std::size_t(row) * pool.dimension, pool.dimension);
          if (score > best.score) {
            const Keypoint& at = features.keypoints[feature];
            best = {feature, at.x, at.y, point, pool.image[row], score, 0};
            any = true;
          }
        }
      });
      if (any) found[i].pair = best;
    }
  });
  GuidedMatches matches;
  for (const Found& entry : found) {
    matches.expected += entry.expected ? 1 : 0;
    if (entry.pair.score > 0) matches.pairs.push_back(entry.pair);
  }
  matches.pairs = settle_features(std::move(matches.pairs));
  return matches;
}

std::vector<PointPair> solver_pairs(std::span<const MapPair> pairs, const Map& map) {
  std::vector<PointPair> result;
  result.reserve(pairs.size());
  for (const MapPair& pair : pairs) {
    PointPair solver;
    solver.pixel = {pair.x, pair.y};
    solver.point = map.point(pair.point);
    solver.sigma_px = 1;
    solver.quality = pair.margin;
    solver.group = pair.point;
    result.push_back(solver);
  }
  return result;
}

}  // namespace skyfix
