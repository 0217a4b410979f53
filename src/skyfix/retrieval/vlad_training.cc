// k-means with cosine assignment. The start is k-means++ (Arthur and Vassilvitskii 2007).
#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include "skyfix/base/error.h"
#include "skyfix/base/parallel.h"
#include "skyfix/retrieval/cosine_assignment.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix {
namespace {

constexpr std::size_t kGrain = 1024;  // rows handled at once by a thread

// Uniform in [0, 1). The standard library's distributions differ between implementations.
double uniform(std::mt19937_64& random) { return double(random() >> 11) * 0x1p-53; }

struct Rows {
  std::vector<float> values;  // [count, dimension], unit
  std::size_t count = 0;
  int dimension = 0;

  const float* row(std::size_t i) const { return values.data() + i * dimension; }
};

// One row from each of `max_samples` equal stretches of the input (all rows when there are no more
// than that); rows that are zero or not numbers are left out.
Rows draw_samples(std::span<const float> descriptors, int dimension, std::size_t max_samples,
                  std::mt19937_64& random) {
  const std::size_t count = descriptors.size() / dimension;
  const std::size_t wanted = std::min(count, max_samples);
  Rows rows;
  rows.dimension = dimension;
  rows.values.reserve(wanted * dimension);
  for (std::size_t i = 0; i < wanted; ++i) {
    std::size_t source = i;
    if (wanted < count) {
      const double stretch = double(count) / double(wanted);
      source = std::min(count - 1, std::size_t((double(i) + uniform(random)) * stretch));
    }
    const auto unit = unit_row(descriptors.subspan(source * dimension, dimension));
    if (unit) rows.values.insert(rows.values.end(), unit->begin(), unit->end());
  }
  rows.count = rows.values.size() / dimension;
  return rows;
}

// Exactly 0 for equal rows. Eight partial sums let the compiler use vector instructions.
float squared_distance(const float* a, const float* b, int dimension) {
  std::array<float, 8> sums{};
  int i = 0;
  for (; i + 8 <= dimension; i += 8) {
    for (int k = 0; k < 8; ++k) sums[k] += (a[i + k] - b[i + k]) * (a[i + k] - b[i + k]);
  }
  for (; i < dimension; ++i) sums[0] += (a[i] - b[i]) * (a[i] - b[i]);
  return std::accumulate(sums.begin(), sums.end(), 0.0f);
}

// The index that a draw in proportion to the weights gives; nullopt when all are zero.
std::optional<std::size_t> draw_weighted(const std::vector<float>& weights,
                                         std::mt19937_64& random) {
  double total = 0;
  for (const float weight : weights) total += weight;
  double left = uniform(random) * total;
  std::optional<std::size_t> drawn;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    drawn = i;  // rounding may leave a little over: the last one with weight then
    left -= weights[i];
    if (left < 0) break;
  }
  return drawn;
}

// Rows far from each other; fewer than `clusters` when there are no more distinct ones.
std::vector<float> starting_centres(const Rows& rows, int clusters, std::mt19937_64& random) {
  std::vector<float> centres;
  std::vector<float> distance(rows.count, std::numeric_limits<float>::max());
  std::optional<std::size_t> next = std::size_t(uniform(random) * double(rows.count));
  while (next && int(centres.size() / rows.dimension) < clusters) {
    const float* centre = rows.row(*next);
    centres.insert(centres.end(), centre, centre + rows.dimension);
    parallel_for(rows.count, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        distance[i] = std::min(distance[i], squared_distance(rows.row(i), centre, rows.dimension));
      }
    });
    next = draw_weighted(distance, random);
  }
  return centres;
}

std::vector<std::uint32_t> assign(const Rows& rows, const std::vector<float>& centres) {
  const CosineAssignment assignment(centres, int(centres.size() / rows.dimension), rows.dimension);
  std::vector<std::uint32_t> labels(rows.count);
  parallel_for(rows.count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) labels[i] = assignment.nearest(rows.row(i));
  });
  return labels;
}

// Means of the members, not renormalised. Summed in the order of the rows.
void move_centres(const Rows& rows, const std::vector<std::uint32_t>& labels,
                  std::vector<float>& centres) {
  const int dimension = rows.dimension;
  std::vector<double> sums(centres.size(), 0.0);
  std::vector<std::size_t> members(centres.size() / dimension, 0);
  for (std::size_t i = 0; i < rows.count; ++i) {
    ++members[labels[i]];
    double* sum = sums.data() + std::size_t(labels[i]) * dimension;
    for (int d = 0; d < dimension; ++d) sum[d] += rows.row(i)[d];
  }
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k] == 0) continue;
    for (std::size_t j = k * dimension; j < (k + 1) * dimension; ++j) {
      centres[j] = float(sums[j] / double(members[k]));
    }
  }
}

}  // namespace

VladVocabulary train_vlad_vocabulary(std::span<const float> descriptors, int dimension,
                                     const VladTraining& options) {
  assert(dimension > 0 && descriptors.size() % dimension == 0);
  if (options.clusters < 1) {
    throw Error(Reason::bad_option,
                "a VLAD vocabulary needs at least 1 cluster; 32 to 128 is usual");
  }
  std::mt19937_64 random(options.seed);
  const Rows rows = draw_samples(descriptors, dimension, options.max_samples, random);

  VladVocabulary vocabulary;
  vocabulary.dimension = dimension;
  if (rows.count == 0) {
    vocabulary.centres.assign(dimension, 0.0f);
  } else {
    vocabulary.centres = starting_centres(rows, options.clusters, random);
    std::vector<std::uint32_t> labels;
    for (int i = 0; i < options.iterations; ++i) {
      std::vector<std::uint32_t> moved = assign(rows, vocabulary.centres);
      if (moved == labels) break;
      labels = std::move(moved);
      move_centres(rows, labels, vocabulary.centres);
    }
  }
  vocabulary.clusters = int(vocabulary.centres.size() / dimension);
  return vocabulary;
}

}  // namespace skyfix
