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

std::vector<float> vlad_descriptor(std::span<const float> centres, int clusters,
                                   const FeatureSet& features) {
  assert(clusters > 0 && centres.size() % clusters == 0);
  const int dimension = int(centres.size() / clusters);
  assert(features.keypoints.empty() || features.dimension == dimension);
  const CosineAssignment assignment(centres, clusters, dimension);

  std::vector<double> residuals(centres.size(), 0.0);
  for (std::size_t i = 0; i < features.keypoints.size(); ++i) {
    const auto unit = unit_row({features.descriptor(i), std::size_t(dimension)});
    if (!unit) continue;
    const std::size_t offset = std::size_t(assignment.nearest(unit->data())) * dimension;
    for (int d = 0; d < dimension; ++d) {
      residuals[offset + d] += double((*unit)[d]) - centres[offset + d];
    }
  }
  for (int k = 0; k < clusters; ++k) {
    normalise(std::span(residuals).subspan(std::size_t(k) * dimension, dimension));
  }
  normalise(residuals);
  return {residuals.begin(), residuals.end()};
}

}  // namespace skyfix
