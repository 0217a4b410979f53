#include "skyfix/retrieval/vlad.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string_view>

#include "skyfix/base/hash.h"
#include "skyfix/retrieval/cosine_assignment.h"

namespace skyfix {
namespace {

constexpr double kSmallestNorm = 1e-12;

void normalise(std::span<double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  const double norm = std::max(std::sqrt(sum), kSmallestNorm);
  for (double& value : values) value /= norm;
}

}  // namespace

std::string VladVocabulary::hash() const {
  return sha256_hex(
      {reinterpret_cast<const char*>(centres.data()), centres.size() * sizeof(float)});
}

std::vector<float> vlad_of_rows(std::span<const float> centres, int clusters,
                                std::span<const float> rows) {
  assert(clusters > 0 && centres.size() % clusters == 0);
  const std::size_t dimension = centres.size() / clusters;
  assert(rows.size() % dimension == 0);
  const CosineAssignment assignment(centres, clusters, int(dimension));

  std::vector<double> residuals(centres.size(), 0.0);
  for (std::size_t begin = 0; begin < rows.size(); begin += dimension) {
    const auto unit = unit_row(rows.subspan(begin, dimension));
    if (!unit) continue;
    const std::size_t offset = assignment.nearest(unit->data()) * dimension;
    for (std::size_t d = 0; d < dimension; ++d) {
      residuals[offset + d] += double((*unit)[d]) - centres[offset + d];
    }
  }
  for (int k = 0; k < clusters; ++k) {
    normalise(std::span(residuals).subspan(k * dimension, dimension));
  }
  normalise(residuals);
  return {residuals.begin(), residuals.end()};
}

std::vector<float> vlad_descriptor(std::span<const float> centres, int clusters,
                                   const FeatureSet& features) {
  assert(features.keypoints.empty() ||
         features.dimension * std::size_t(clusters) == centres.size());
  return vlad_of_rows(centres, clusters, features.descriptors);
}

}  // namespace skyfix
