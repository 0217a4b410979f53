// Exact mutual nearest neighbours by dot product, without ever holding the N x M matrix: one
// blocked pass, SIMD, all cores; beyond inputs and outputs the memory is bounded by cache sizes.
//
// Rules: similarity = dot product; ties go to the lowest index in both directions; a row with any
// NaN or infinite entry never matches and is never a neighbour; an empty side gives -1 everywhere;
// no threshold, no ratio. Every product is summed in the same order wherever its row lands, so
// results do not depend on blocking, thread count or which side is the query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace skyfix {

// Row-major float32 rows, contiguous.
struct DescriptorView {
  const float* data = nullptr;
  std::int64_t rows = 0;
  int dimension = 0;

  const float* row(std::int64_t i) const { return data + i * dimension; }
};

struct NearestNeighbours {
  std::vector<std::int64_t> nn_query;  // [N] map row with the largest product, -1 = none
  std::vector<std::int64_t> nn_map;    // [M] query row with the largest product, -1 = none
  std::vector<float> score_query;      // [N] the winning product, -infinity where none
  std::vector<float> score_map;        // [M]
};

struct MutualPair {
  std::int64_t query = 0;
  std::int64_t map = 0;
  float score = 0;
};

// Which instructions the kernel uses; chosen once per call.
// "scalar" is portable code in the compiler's own short vectors. The two fused kernels agree to the
// bit; scalar, without fused multiply-add, may differ in the last ones. A request beyond what the
// machine has falls to its best.
enum class Simd { automatic, scalar, avx2, avx512 };
std::string_view simd_name(Simd simd);
// The best this processor and operating system offer; SKYFIX_SIMD=scalar|avx2|avx512 lowers it.
Simd best_simd();

// Both dimensions must be equal and at least 1, rows fewer than 2^31 - 64 (asserted). Products that
// overflow float32 to NaN or -infinity count as none. Throws nothing but std::bad_alloc.
NearestNeighbours nearest_neighbours(DescriptorView query, DescriptorView map,
                                     Simd simd = Simd::automatic);

// Pairs that choose each other, by rising query index.
std::vector<MutualPair> mutual_pairs(const NearestNeighbours& neighbours);

// For each pair, the best product of its query row with map rows of another group (a group is a map
// point: one point may own several descriptor rows); -infinity where there is none. `group` has one
// entry per map row. score - runner_up is the margin used for weighting.
std::vector<float> runner_up_scores(DescriptorView query, DescriptorView map,
                                    std::span<const std::uint32_t> group,
                                    std::span<const MutualPair> pairs, Simd simd = Simd::automatic);

// Most bytes that nearest_neighbours needs beyond its inputs and outputs, for the given shape and
// the present thread count: a block of the map (256 KiB or one panel) and, a thread, one panel of
// queries and the block's column maxima. Independent of n and m once they exceed a block.
std::size_t nearest_neighbours_extra_bytes(std::int64_t n, std::int64_t m, int dimension);

namespace reference {
// The slow, obvious twin in double precision, for tests.
NearestNeighbours nearest_neighbours(DescriptorView query, DescriptorView map);
}  // namespace reference

}  // namespace skyfix
