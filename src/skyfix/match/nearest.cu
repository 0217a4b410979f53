// Exact mutual nearest neighbours in one pass, no matrix: each block keeps the best map row of its
// 128 query rows in registers and offers column maxima to the map's keys in device memory, where
// few are better than what is there already (tile_product.cuh has the product).
#include <algorithm>

#include "skyfix/match/match_key.h"
#include "skyfix/match/nearest_cuda.h"
#include "skyfix/match/tile_product.cuh"

namespace skyfix::match {
namespace cuda {

// One work item as the kernel sees it; untyped so that items of one launch stand in one array.
struct Item {
  const void* query;
  const void* map;
  const float* query_bias;
  const float* map_bias;
  MatchKey* query_keys;
  MatchKey* map_keys;  // null = not wanted
  std::int64_t query_rows;
  std::int64_t map_rows;
  std::uint32_t query_first;
  std::uint32_t map_first;
  int splits;  // pieces of the map, one a block
  unsigned first_block;
};
constexpr int kMaxItems = 32;
struct Items {
  Item item[kMaxItems];
  int count;
  int dimension;
};
static_assert(sizeof(Items) <= 4096, "kernel arguments");

__host__ __device__ inline std::int64_t tiles_of(std::int64_t rows, int tile) {
  return (rows + tile - 1) / tile;
}

constexpr unsigned kAllLanes = 0xffffffffu;

template <int Apart>
__device__ inline MatchKey larger_of_lanes(MatchKey key) {
  const MatchKey other = __shfl_xor_sync(kAllLanes, key, Apart);
  return key > other ? key : other;
}

// The best map row so far of a thread's eight query rows.
struct RowBest {
  float score[kMicro];
  std::uint32_t column[kMicro];

  __device__ void clear() {
#pragma unroll
    for (int r = 0; r < kMicro; ++r) score[r] = kNone, column[r] = 0;
  }
  // Columns rise within a thread, so "greater" keeps the lowest of equals. NaN is never greater.
  __device__ void update(const float (&acc)[kMicro][kMicro], const Place& place,
                         std::uint32_t tile_column) {
#pragma unroll
    for (int c = 0; c < kMicro; ++c) {
      const std::uint32_t here = tile_column + place.column(c);
#pragma unroll
      for (int r = 0; r < kMicro; ++r) {
        const bool better = acc[r][c] > score[r];
        score[r] = better ? acc[r][c] : score[r];
        column[r] = better ? here : column[r];
      }
    }
  }
  // Joins the eight threads of a warp that hold the same rows, then the keys.
  __device__ void settle(MatchKey* keys, std::int64_t first_row, std::int64_t rows,
                         const Place& place) {
#pragma unroll
    for (int r = 0; r < kMicro; ++r) {
      MatchKey key = score[r] > kNone ? make_key(score[r], column[r]) : 0;
      key = larger_of_lanes<1>(key);
      key = larger_of_lanes<2>(key);
      key = larger_of_lanes<4>(key);
      const std::int64_t row = first_row + place.row(r);
      if (threadIdx.x % 8 == 0 && row < rows && key != 0) {
        atomicMax(reinterpret_cast<unsigned long long*>(keys + row), key);
      }
    }
  }
};

// Offers a thread's column maxima to the map's keys. `best` is what the keys held a moment ago;
// +infinity for columns past the end. Equal scores are offered too: the row may be lower.
__device__ inline void offer_columns(const float (&acc)[kMicro][kMicro], const Place& place,
                                     const float* best, MatchKey* keys, std::uint32_t query_first) {
  float top[kMicro], known[kMicro];
  take8(best, place.x, known);
  bool any = false;
#pragma unroll
  for (int c = 0; c < kMicro; ++c) {
    top[c] = acc[0][c];
#pragma unroll
    for (int r = 1; r < kMicro; ++r) top[c] = fmaxf(top[c], acc[r][c]);
    any |= top[c] >= known[c];
  }
  if (!__any_sync(kAllLanes, any)) return;
#pragma unroll
  for (int c = 0; c < kMicro; ++c) {
    const bool offers = top[c] >= known[c] && top[c] > kNone;
    if (!__any_sync(kAllLanes, offers)) continue;
    int row = 0;
#pragma unroll
    for (int r = kMicro - 1; r >= 0; --r) row = acc[r][c] == top[c] ? place.row(r) : row;
    MatchKey key = offers ? make_key(top[c], query_first + row) : 0;
    // The four threads of the warp that hold the same column.
    key = larger_of_lanes<8>(key);
    key = larger_of_lanes<16>(key);
    if (threadIdx.x % 32 < 8 && key != 0) {
      atomicMax(reinterpret_cast<unsigned long long*>(keys + place.column(c)), key);
    }
  }
}

// What varies between the kernels. Resident: the whole row is one chunk of K entries, and the query
// tile stays in shared memory.
template <class Element, int Entries, bool ResidentQuery, bool AlignedRows>
struct Variant {
  using T = Element;
  static constexpr int kEntries = Entries;
  static constexpr bool kResident = ResidentQuery;
  static constexpr bool kAligned = AlignedRows;
};

// A block: one tile of query rows against the map tiles [first, last) of its piece.
template <class V>
class NearestBlock {
  using T = typename V::T;
  static constexpr int K = V::kEntries;

 public:
  struct Shared {
    float query[V::kResident ? 1 : 2][K * kTile];
    float map[2][K * kTile];
    float query_bias[kTile];
    float map_bias[2][kTile];
    float map_best[2][kTile];
  };

  __device__ NearestBlock(const Item& item, int dimension, std::int64_t query_tile, Shared& shared)
      : item_(item), dimension_(dimension), shared_(shared), first_row_(query_tile * kTile) {
    chunks_ = V::kResident ? 1 : (dimension + K - 1) / K;
    const std::int64_t at = first_row_ + InFlight::row();
    const bool inside = at < item.query_rows;
    query_row_ = inside ? static_cast<const T*>(item.query) + at * dimension : nullptr;
    if (V::kResident) query_tile_.template read<V::kAligned>(query_row_, 0, dimension);
    query_bias_ = inside ? item.query_bias[at] : kNone;
    if (threadIdx.x < kTile) shared.query_bias[threadIdx.x] = query_bias_;
  }

  // Begins at tile `start` and goes round: at the start every column maximum is new, and blocks
  // that began together would all offer theirs to the same keys at once.
  __device__ void walk(std::int64_t first, std::int64_t last, std::int64_t start) {
    RowBest best;
    best.clear();
    float acc[kMicro][kMicro];
    fetch(start, 0);
    if (V::kResident) query_tile_.write(shared_.query[0], query_bias_ == 0);
    store(0, 0);
    int biased = any_biased();
    int buffer = 0, side = 0;
    std::int64_t tile = start;
    for (std::int64_t left = last - first; left > 0; --left) {
      const std::int64_t next = tile + 1 < last ? tile + 1 : first;
      const int tile_biased = biased;
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        const bool ends = chunk + 1 == chunks_;
        const bool more = !ends || left > 1;
        if (more) fetch(ends ? next : tile, ends ? 0 : chunk + 1);
        const float* query = shared_.query[V::kResident ? 0 : buffer];
        if (V::kResident || chunk == 0) {
          multiply<K, true>(query, shared_.map[buffer], place_, acc);
        } else {
          multiply<K, false>(query, shared_.map[buffer], place_, acc);
        }
        if (ends) finish_tile(acc, tile, side, tile_biased, best);
        if (more) store(buffer ^ 1, ends ? side ^ 1 : -1);
        biased = any_biased();
        buffer ^= 1;
      }
      // Lower columns follow: what is equal there must win.
      if (next == first) {
        best.settle(item_.query_keys, first_row_, item_.query_rows, place_);
        best.clear();
      }
      tile = next;
      side ^= 1;
    }
    if (start != first) best.settle(item_.query_keys, first_row_, item_.query_rows, place_);
  }

 private:
  using InFlight = TileInFlight<K>;

  __device__ void fetch(std::int64_t tile, int chunk) {
    const std::int64_t at = tile * kTile + InFlight::row();
    if (chunk == 0) {
      const bool inside = at < item_.map_rows;
      map_row_ = inside ? static_cast<const T*>(item_.map) + at * dimension_ : nullptr;
      map_bias_ = inside ? item_.map_bias[at] : kNone;
      map_best_ = __builtin_inff();
      if (inside && item_.map_keys != nullptr && threadIdx.x < kTile) {
        map_best_ =
            key_score(__ldcg(reinterpret_cast<const unsigned long long*>(item_.map_keys + at)));
      }
    }
    map_tile_.template read<V::kAligned>(map_row_, chunk * K, dimension_);
    if (!V::kResident) query_tile_.template read<V::kAligned>(query_row_, chunk * K, dimension_);
  }

  // Barrier; true when a row of the tiles now in shared memory is unusable or beyond the end.
  __device__ int any_biased() const { return __syncthreads_or(query_bias_ != 0 || map_bias_ != 0); }

  // side >= 0: a new tile begins, its biases and best scores go there.
  __device__ void store(int buffer, int side) {
    map_tile_.write(shared_.map[buffer], map_bias_ == 0);
    if (!V::kResident)
      query_tile_.write(shared_.query[V::kResident ? 0 : buffer], query_bias_ == 0);
    if (side >= 0 && threadIdx.x < kTile) {
      shared_.map_bias[side][threadIdx.x] = map_bias_;
      shared_.map_best[side][threadIdx.x] = map_best_;
    }
  }

  __device__ void finish_tile(float (&acc)[kMicro][kMicro], std::int64_t tile, int side,
                              bool biased, RowBest& best) {
    if (biased) {
      float q[kMicro], m[kMicro];
      take8(shared_.query_bias, place_.y, q);
      take8(shared_.map_bias[side], place_.x, m);
#pragma unroll
      for (int r = 0; r < kMicro; ++r) {
#pragma unroll
        for (int c = 0; c < kMicro; ++c) acc[r][c] += q[r] + m[c];
      }
    }
    const std::int64_t column = tile * kTile;
    best.update(acc, place_, item_.map_first + static_cast<std::uint32_t>(column));
    if (item_.map_keys != nullptr) {
      offer_columns(acc, place_, shared_.map_best[side], item_.map_keys + column,
                    item_.query_first + static_cast<std::uint32_t>(first_row_));
    }
  }

  const Item& item_;
  int dimension_;
  Shared& shared_;
  std::int64_t first_row_;
  const Place place_;
  int chunks_;
  const T* query_row_;
  const T* map_row_ = nullptr;
  float query_bias_;
  float map_bias_ = 0;
  float map_best_ = 0;
  InFlight map_tile_;
  InFlight query_tile_;
};

template <class V>
__global__ __launch_bounds__(kThreads, 2) void nearest_kernel(const __grid_constant__ Items items) {
  using Block = NearestBlock<V>;
  __shared__ __align__(16) typename Block::Shared shared;
  int i = 0;
  while (i + 1 < items.count && blockIdx.x >= items.item[i + 1].first_block) ++i;
  const Item& item = items.item[i];
  const unsigned block = blockIdx.x - item.first_block;
  const std::int64_t query_tile = block / item.splits;
  const std::int64_t split = block % item.splits;
  const std::int64_t tiles = tiles_of(item.map_rows, kTile);
  const std::int64_t first = tiles * split / item.splits;
  const std::int64_t last = tiles * (split + 1) / item.splits;
  if (first == last) return;
  Block work(item, items.dimension, query_tile, shared);
  work.walk(first, last, first + query_tile % (last - first));
}

// How many pieces the map is cut into so that all multiprocessors have work for several rounds, but
// no piece is shorter than some 512 rows.
int splits_for(std::int64_t query_tiles, std::int64_t map_rows, int multiprocessors) {
  const std::int64_t wanted = (16 * std::int64_t{multiprocessors} + query_tiles - 1) / query_tiles;
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, map_rows / 512), 1, 4096));
}

template <class V>
int launch(const Items& items, unsigned blocks, cudaStream_t stream) {
  nearest_kernel<V><<<blocks, kThreads, 0, stream>>>(items);
  return cudaGetLastError();
}

constexpr int kResidentEntries = 24;

template <class T>
int launch_items(const Items& items, unsigned blocks, bool aligned, cudaStream_t stream) {
  if (items.dimension <= kResidentEntries) {
    if (aligned) return launch<Variant<T, kResidentEntries, true, true>>(items, blocks, stream);
    return launch<Variant<T, kResidentEntries, true, false>>(items, blocks, stream);
  }
  if (aligned) return launch<Variant<T, 8, false, true>>(items, blocks, stream);
  return launch<Variant<T, 8, false, false>>(items, blocks, stream);
}

template <class T>
int accumulate(std::span<const MatchWork> work, int multiprocessors, cudaStream_t stream) {
  Items items{};
  unsigned blocks = 0;
  bool aligned = true;
  auto flush = [&] {
    const int status =
        items.count == 0 ? cudaSuccess : launch_items<T>(items, blocks, aligned, stream);
    items.count = 0;
    blocks = 0;
    aligned = true;
    return status;
  };
  for (const MatchWork& one : work) {
    if (one.query.rows == 0 || one.map.rows == 0) continue;
    const std::int64_t query_tiles = tiles_of(one.query.rows, kTile);
    const int splits = splits_for(query_tiles * static_cast<std::int64_t>(work.size()),
                                  one.map.rows, multiprocessors);
    if (items.count == kMaxItems ||
        (items.count > 0 &&
         (items.dimension != one.query.dimension || blocks + query_tiles * splits > 0x7fffffff))) {
      if (const int status = flush()) return status;
    }
    items.dimension = one.query.dimension;
    items.item[items.count++] = {one.query.data,      one.map.data,   one.query.bias,
                                 one.map.bias,        one.query_keys, one.map_keys,
                                 one.query.rows,      one.map.rows,   one.query.first_index,
                                 one.map.first_index, splits,         blocks};
    blocks += static_cast<unsigned>(query_tiles * splits);
    aligned = aligned && is_aligned<T>(one.query.data, items.dimension) &&
              is_aligned<T>(one.map.data, items.dimension);
  }
  return flush();
}

}  // namespace cuda

int launch_accumulate(std::span<const MatchWork> work, int multiprocessors, void* stream) {
  if (work.empty()) return cudaSuccess;
  const auto on = static_cast<cudaStream_t>(stream);
  const RowType type = work.front().query.type;
  if (type == RowType::float32) return cuda::accumulate<float>(work, multiprocessors, on);
  if (type == RowType::float16) return cuda::accumulate<__half>(work, multiprocessors, on);
  return cuda::accumulate<__nv_bfloat16>(work, multiprocessors, on);
}

int launch_match(const MatchWork& work, float* query_bias, float* map_bias, float* query_scores,
                 float* map_scores, int multiprocessors, void* stream) {
  int status = launch_check_both({work.query, query_bias, work.query_keys},
                                 {work.map, map_bias, work.map_keys}, stream);
  if (status != cudaSuccess) return status;
  MatchWork checked = work;
  checked.query.bias = query_bias;
  checked.map.bias = map_bias;
  status = launch_accumulate({&checked, 1}, multiprocessors, stream);
  if (status != cudaSuccess) return status;
  return launch_decode_both({work.query_keys, query_scores, work.query.rows},
                            {work.map_keys, map_scores, work.map.rows}, stream);
}

}  // namespace skyfix::match
