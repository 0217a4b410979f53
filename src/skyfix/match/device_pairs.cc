#include "skyfix/match/device_pairs.h"

#include <algorithm>

namespace skyfix {

// Behind one another in one block; the keys become the indices.
struct DevicePairs::Arrays {
  MatchKey* query_keys = nullptr;
  MatchKey* map_keys = nullptr;
  float* query_bias = nullptr;
  float* map_bias = nullptr;
  float* query_scores = nullptr;
  float* map_scores = nullptr;
  float* sure = nullptr;  // behind the map's scores: both come down together
};

DevicePairs::Arrays DevicePairs::take(const SureRows& query, const SureRows& map) {
  const std::int64_t rows = query.count + map.count;
  const std::size_t bytes = sizeof(MatchKey) * rows + sizeof(float) * (2 * rows + map.count);
  Arrays arrays;
  arrays.query_keys = reinterpret_cast<MatchKey*>(workspace_.keys.at_least(bytes, ledger_));
  arrays.map_keys = arrays.query_keys + query.count;
  arrays.query_bias = reinterpret_cast<float*>(arrays.map_keys + map.count);
  arrays.map_bias = arrays.query_bias + query.count;
  arrays.query_scores = arrays.map_bias + map.count;
  arrays.map_scores = arrays.query_scores + query.count;
  arrays.sure = arrays.map_scores + map.count;
  return arrays;
}

std::vector<SurePair> DevicePairs::match(const SureRows& query, const SureRows& map) {
  std::vector<SurePair> pairs;
  if (query.count == 0 || map.count == 0) return pairs;
  const Arrays on = take(query, map);
  kernels_.match({{query.rows, nullptr, query.count, query.dimension, RowType::float32, 0},
                  {map.rows, nullptr, map.count, map.dimension, RowType::float32, 0},
                  on.query_keys,
                  on.map_keys},
                 on.query_bias, on.map_bias, on.query_scores, on.map_scores);
  const bool asked = query.sure != nullptr && map.sure != nullptr;
  auto* map_indices = reinterpret_cast<std::int64_t*>(on.map_keys);
  kernels_.keep_mutual({reinterpret_cast<const std::int64_t*>(on.query_keys), map_indices,
                        map.count, query.sure, map.sure, asked ? on.sure : nullptr});
  std::vector<std::int64_t> indices(map.count);
  std::vector<float> scores((asked ? 2 : 1) * map.count);
  Device& device = ledger_.device();
  device.download(indices.data(), map_indices, sizeof(std::int64_t) * map.count);
  device.download(scores.data(), on.map_scores, sizeof(float) * scores.size());
  for (std::int64_t j = 0; j < map.count; ++j) {
    if (indices[j] < 0) continue;
    pairs.push_back({{indices[j], j, scores[j]}, asked ? scores[map.count + j] : 0.0f});
  }
  std::sort(pairs.begin(), pairs.end(),
            [](const SurePair& a, const SurePair& b) { return a.mutual.query < b.mutual.query; });
  return pairs;
}

std::vector<SurePair> sure_pairs_on_host(const SureRows& query, const SureRows& map) {
  const bool asked = query.sure != nullptr && map.sure != nullptr;
  std::vector<SurePair> pairs;
  for (MutualPair& mutual : mutual_pairs(nearest_neighbours(
           {query.rows, query.count, query.dimension}, {map.rows, map.count, map.dimension}))) {
    mutual.score += 0.0f;  // -0 and +0 are one score, as on the device
    pairs.push_back(
        {mutual, asked ? std::min(query.sure[mutual.query], map.sure[mutual.map]) : 0.0f});
  }
  return pairs;
}

}  // namespace skyfix
