// The matcher's arithmetic on a device, in pieces that may be repeated: a pool of map rows may come
// in several parts and a frame in several chunks, and the result is that of one pass, to the bit.
//
// Every product is one chain acc = fma(q[k], m[k], acc), k rising, from 0, on the CPU (AVX2,
// AVX-512) and on the GPU alike, so both give equal scores and equal indices. Results meet in keys
// of 64 bits, compared as integers: the score, order-preserving, in the upper half and the
// complement of the index in the lower, so that ties go to the lowest index. 0 = no neighbour.
//
// All pointers are memory of the kernels' device. Calls are in order; nothing is allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "skyfix/match/mutual_nearest.h"
#include "skyfix/memory/device.h"

namespace skyfix {

enum class RowType { float32, float16, bfloat16 };
std::size_t row_type_bytes(RowType type);

// Row-major rows on the device. `bias` has 0 for a usable row and -infinity for one with a NaN or
// infinite entry (check_rows writes it).
struct DeviceRows {
  const void* data = nullptr;
  const float* bias = nullptr;
  std::int64_t rows = 0;
  int dimension = 0;
  RowType type = RowType::float32;
  std::uint32_t first_index = 0;  // index of row 0 in the whole pool or frame
};

using MatchKey = std::uint64_t;

// One query part against one map part. query_keys and map_keys belong to row 0 of each part.
struct MatchWork {
  DeviceRows query;
  DeviceRows map;
  MatchKey* query_keys = nullptr;  // [query.rows], updated
  MatchKey* map_keys = nullptr;    // [map.rows], updated; null = this direction is not wanted
};

// Which neighbours choose each other, after decode.
struct MutualWork {
  const std::int64_t* query_indices = nullptr;
  std::int64_t* map_indices = nullptr;  // [map_rows], becomes -1 where the choice is not mutual
  std::int64_t map_rows = 0;
  // How sure each row is of itself; the pair is as sure as the less sure side. Null = not asked.
  const float* query_sure = nullptr;
  const float* map_sure = nullptr;
  float* sure = nullptr;  // [map_rows], 0 where there is no pair
};

class MatchKernels {
 public:
  virtual ~MatchKernels() = default;
  // bias[i] = 0 or -infinity. rows.bias is not read.
  virtual void check_rows(const DeviceRows& rows, float* bias) = 0;
  virtual void clear_keys(MatchKey* keys, std::int64_t count) = 0;
  // Updates the keys by all products of each work item; items may share query_keys. Both sides of
  // an item have equal dimension and type.
  virtual void accumulate(std::span<const MatchWork> work) = 0;
  // Turns keys into indices (in place: -1 where none) and scores (-infinity where none).
  virtual void decode(MatchKey* keys_to_indices, float* scores, std::int64_t count) = 0;
  virtual void keep_mutual(const MutualWork& work) = 0;
  // One pair from start to end: checks both sides' rows into the biases, clears the keys, takes all
  // products and decodes: the keys end as indices. work's own biases are not read. As the pieces
  // above in turn; a device may take fewer launches.
  virtual void match(const MatchWork& work, float* query_bias, float* map_bias, float* query_scores,
                     float* map_scores);
  // For each listed query row (index within `query`), best[i] = max(best[i], the largest product
  // with a map row whose group differs from row_group[i]).
  virtual void runner_up(const DeviceRows& query, const std::int64_t* listed,
                         const std::uint32_t* row_group, std::int64_t listed_count,
                         const DeviceRows& map, const std::uint32_t* map_group, float* best) = 0;
};

// On host memory, by the SIMD kernels of mutual_nearest.h: the twin of the GPU's, and the one that
// tests run through make_host_device(). float16 and bfloat16 rows are widened piece by piece.
std::unique_ptr<MatchKernels> make_host_match_kernels();

// The key of a score and an index, and back.
MatchKey match_key(float score, std::uint32_t index);
std::int64_t match_key_index(MatchKey key);  // -1 = none
float match_key_score(MatchKey key);         // -infinity = none

}  // namespace skyfix
