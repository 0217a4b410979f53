#include "skyfix/retrieval/cosine_assignment.h"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace skyfix {

std::optional<std::vector<float>> unit_row(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += double(value) * value;
  if (!(sum > 0) || !std::isfinite(sum)) return std::nullopt;
  const double factor = 1 / std::sqrt(sum);
  std::vector<float> unit(row.size());
  std::transform(row.begin(), row.end(), unit.begin(),
                 [&](float value) { return float(value * factor); });
  return unit;
}

CosineAssignment::CosineAssignment(std::span<const float> centres, int clusters, int dimension)
    : clusters_(clusters), dimension_(dimension) {
  assert(clusters > 0 && centres.size() == std::size_t(clusters) * dimension);
  const int blocks = (clusters + kBlock - 1) / kBlock;
  blocks_.assign(std::size_t(blocks) * dimension * kBlock, 0.0f);
  for (int k = 0; k < clusters; ++k) {
    const auto unit = unit_row(centres.subspan(std::size_t(k) * dimension, dimension));
    if (!unit) continue;
    float* column = blocks_.data() + std::size_t(k / kBlock) * dimension * kBlock + k % kBlock;
    for (int i = 0; i < dimension; ++i) column[std::size_t(i) * kBlock] = (*unit)[i];
  }
}

std::uint32_t CosineAssignment::nearest(const float* row) const {
  std::uint32_t best = 0;
  float best_cosine = -std::numeric_limits<float>::infinity();
  const float* block = blocks_.data();
  for (int first = 0; first < clusters_; first += kBlock) {
    using Block = Eigen::Array<float, kBlock, 1>;
    Block cosine = Block::Zero();
    for (int i = 0; i < dimension_; ++i, block += kBlock) {
      cosine += row[i] * Eigen::Map<const Block>(block);
    }
    for (int k = 0; k < std::min(kBlock, clusters_ - first); ++k) {
      if (cosine[k] > best_cosine) {
        best_cosine = cosine[k];
        best = std::uint32_t(first + k);
      }
    }
  }
  return best;
}

}  // namespace skyfix
