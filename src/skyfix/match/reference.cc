// The slow twin: every product in double precision, one after the other.
#include <cassert>
#include <cmath>
#include <limits>

#include "skyfix/match/mutual_nearest.h"
#include "skyfix/match/panels.h"

namespace skyfix::reference {
namespace {

double product(const float* a, const float* b, int dimension) {
  double sum = 0;
  for (int k = 0; k < dimension; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

}  // namespace

NearestNeighbours nearest_neighbours(DescriptorView query, DescriptorView map) {
  assert(query.dimension == map.dimension);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::vector<double> best_query(query.rows, kNone);
  std::vector<double> best_map(map.rows, kNone);
  NearestNeighbours result;
  result.nn_query.assign(query.rows, -1);
  result.nn_map.assign(map.rows, -1);
  for (std::int64_t i = 0; i < query.rows; ++i) {
    if (!match::all_finite(query.row(i), query.dimension)) continue;
    for (std::int64_t j = 0; j < map.rows; ++j) {
      if (!match::all_finite(map.row(j), map.dimension)) continue;
      const double score = product(query.row(i), map.row(j), map.dimension);
      if (score > best_query[i]) {
        best_query[i] = score;
        result.nn_query[i] = j;
      }
      if (score > best_map[j]) {
        best_map[j] = score;
        result.nn_map[j] = i;
      }
    }
  }
  result.score_query.assign(best_query.begin(), best_query.end());
  result.score_map.assign(best_map.begin(), best_map.end());
  return result;
}

}  // namespace skyfix::reference
