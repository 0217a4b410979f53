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
  // Joins the eight threads that hold the same rows, then the keys.
  __device__ void settle(MatchKey* keys, std::int64_t first_row, std::int64_t rows,
                         const Place& place) {
#pragma unroll
    for (int r = 0; r < kMicro; ++r) {
      MatchKey key = score[r] > kNone ? make_key(score[r], column[r]) : 0;
#pragma unroll
      for (int step = 1; step < 8; step *= 2) {
        const MatchKey other = __shfl_xor_sync(0xffffffffu, key, step);
        key = key > other ? key : other;
      }
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
  if (!any) return;
#pragma unroll
  for (int c = 0; c < kMicro; ++c) {
    if (!(top[c] >= known[c]) || top[c] == kNone) continue;
    int row = 0;
#pragma unroll
    for (int r = kMicro - 1; r >= 0; --r) row = acc[r][c] == top[c] ? place.row(r) : row;
    atomicMax(reinterpret_cast<unsigned long long*>(keys + place.column(c)),
              make_key(top[c], query_first + row));
  }
}

template <int K>
struct NearestShared {
  float query[2][K * kStride];
  float map[2][K * kStride];
  float query_bias[kTile];
  float map_bias[2][kTile];
  float map_best[2][kTile];
};
// With one chunk the query tile stays.
template <int K>
struct NearestSharedResident {
  float query[1][K * kStride];
  float map[2][K * kStride];
  float query_bias[kTile];
  float map_bias[2][kTile];
  float map_best[2][kTile];
};

// A block: one tile of query rows against the map tiles [first_tile, last_tile) of its piece.
// Resident: the whole row is one chunk of K entries.
template <class T, int K, bool Resident, bool Aligned>
class NearestBlock {
 public:
  using Shared = std::conditional_t<Resident, NearestSharedResident<K>, NearestShared<K>>;

  __device__ NearestBlock(const Item& item, int dimension, std::int64_t query_tile, Shared& shared)
      : item_(item), dimension_(dimension), shared_(shared), first_row_(query_tile * kTile) {
    chunks_ = Resident ? 1 : (dimension + K - 1) / K;
    const int row = threadIdx.x % kTile;
    const std::int64_t at = first_row_ + row;
    const float bias = at < item.query_rows ? item.query_bias[at] : kNone;
    query_row_ = bias == 0 ? static_cast<const T*>(item.query) + at * dimension : nullptr;
    if (threadIdx.x < kTile) shared.query_bias[row] = bias;
    query_biased_ = bias != 0;
    if (Resident) {
      TileInFlight<K> tile;
      tile.template read<Aligned>(query_row_, 0, dimension);
      tile.write(shared.query[0]);
    }
  }

  __device__ void walk(std::int64_t first_tile, std::int64_t last_tile) {
    if (first_tile >= last_tile) return;
    RowBest best;
    best.clear();
    const Place place;
    float acc[kMicro][kMicro];
    fetch(first_tile, 0);
    store(0, 0);
    int biased = __syncthreads_or(query_biased_ || map_biased_);
    int buffer = 0;
    for (std::int64_t tile = first_tile; tile < last_tile; ++tile) {
      const int tile_biased = biased;
      const int side = static_cast<int>(tile - first_tile) % 2;
      for (int chunk = 0; chunk < chunks_; ++chunk) {
        const bool tile_ends = chunk + 1 == chunks_;
        const bool more = !tile_ends || tile + 1 < last_tile;
        if (more) fetch(tile_ends ? tile + 1 : tile, tile_ends ? 0 : chunk + 1);
        const float* query = shared_.query[Resident ? 0 : buffer];
        if (chunk == 0) {
          multiply<K, true>(query, shared_.map[buffer], place, acc);
        } else {
          multiply<K, false>(query, shared_.map[buffer], place, acc);
        }
        if (tile_ends) finish_tile(acc, place, tile, side, tile_biased, best);
        if (more) store(buffer ^ 1, tile_ends ? side ^ 1 : -1);
        biased = __syncthreads_or(query_biased_ || map_biased_);
        buffer ^= 1;
      }
    }
    best.settle(item_.query_keys, first_row_, item_.query_rows, place);
  }

 private:
  __device__ void fetch(std::int64_t tile, int chunk) {
    const std::int64_t at = tile * kTile + threadIdx.x % kTile;
    if (chunk == 0) {
      const bool inside = at < item_.map_rows;
      map_bias_ = inside ? item_.map_bias[at] : kNone;
      map_biased_ = map_bias_ != 0;
      map_row_ = map_biased_ ? nullptr : static_cast<const T*>(item_.map) + at * dimension_;
      map_best_ = __builtin_inff();
      if (inside && item_.map_keys != nullptr && threadIdx.x < kTile) {
        map_best_ =
            key_score(__ldcg(reinterpret_cast<const unsigned long long*>(item_.map_keys + at)));
      }
    }
    map_tile_.template read<Aligned>(map_row_, chunk * K, dimension_);
    if (!Resident) query_tile_.template read<Aligned>(query_row_, chunk * K, dimension_);
  }

  // side >= 0: a new tile begins, its biases and best scores go there.
  __device__ void store(int buffer, int side) {
    map_tile_.write(shared_.map[buffer]);
    if (!Resident) query_tile_.write(shared_.query[buffer]);
    if (side >= 0 && threadIdx.x < kTile) {
      shared_.map_bias[side][threadIdx.x] = map_bias_;
      shared_.map_best[side][threadIdx.x] = map_best_;
    }
  }

  __device__ void finish_tile(float (&acc)[kMicro][kMicro], const Place& place, std::int64_t tile,
                              int side, bool biased, RowBest& best) {
    if (biased) {
      float q[kMicro], m[kMicro];
      take8(shared_.query_bias, place.y, q);
      take8(shared_.map_bias[side], place.x, m);
#pragma unroll
      for (int r = 0; r < kMicro; ++r) {
#pragma unroll
        for (int c = 0; c < kMicro; ++c) acc[r][c] += q[r] + m[c];
      }
    }
    best.update(acc, place, item_.map_first + static_cast<std::uint32_t>(tile * kTile));
    if (item_.map_keys != nullptr) {
      offer_columns(acc, place, shared_.map_best[side], item_.map_keys + tile * kTile,
                    item_.query_first + static_cast<std::uint32_t>(first_row_));
    }
  }

  const Item& item_;
  int dimension_;
  Shared& shared_;
  std::int64_t first_row_;
  int chunks_;
  const T* query_row_;
  const T* map_row_ = nullptr;
  bool query_biased_;
  bool map_biased_ = false;
  float map_bias_ = 0;
  float map_best_ = 0;
  TileInFlight<K> map_tile_;
  TileInFlight<K> query_tile_;
};

template <class T, int K, bool Resident, bool Aligned>
__global__ __launch_bounds__(kThreads, 2) void nearest_kernel(const __grid_constant__ Items items) {
  using Block = NearestBlock<T, K, Resident, Aligned>;
  __shared__ __align__(16) typename Block::Shared shared;
  int i = 0;
  while (i + 1 < items.count && blockIdx.x >= items.item[i + 1].first_block) ++i;
  const Item& item = items.item[i];
  const unsigned block = blockIdx.x - item.first_block;
  const std::int64_t query_tile = block / item.splits;
  const std::int64_t split = block % item.splits;
  const std::int64_t tiles = (item.map_rows + kTile - 1) / kTile;
  const std::int64_t first = tiles * split / item.splits;
  const std::int64_t last = tiles * (split + 1) / item.splits;
  if (first == last) return;
  Block work(item, items.dimension, query_tile, shared);
  // Blocks begin at different tiles: at the start every column maximum is new, and all would offer
  // theirs to the same keys at once.
  const std::int64_t start = first + query_tile % (last - first);
  work.walk(start, last);
  __syncthreads();
  work.walk(first, start);
}

template <class T>
__global__ void check_rows_kernel(const T* data, std::int64_t rows, int dimension, float* bias) {
  // Eight threads a row.
  const std::int64_t row = (blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x) / 8;
  bool bad = false;
  if (row < rows) {
    for (int k = threadIdx.x % 8; k < dimension; k += 8) {
      bad |= !isfinite(widen(data[row * dimension + k]));
    }
  }
  const unsigned votes = __ballot_sync(0xffffffffu, bad);
  if (row < rows && threadIdx.x % 8 == 0) {
    bias[row] = (votes >> (threadIdx.x % 32)) & 0xffu ? kNone : 0.0f;
  }
}

__global__ void decode_kernel(MatchKey* keys, float* scores, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  const MatchKey key = keys[i];
  scores[i] = key_score(key);
  reinterpret_cast<std::int64_t*>(keys)[i] = key_index(key);
}

unsigned blocks_of(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

// How many pieces the map is cut into so that all multiprocessors have work for several rounds, but
// no piece is shorter than four tiles.
int splits_for(std::int64_t query_tiles, std::int64_t map_tiles, int multiprocessors) {
  const std::int64_t wanted = (8 * std::int64_t{multiprocessors} + query_tiles - 1) / query_tiles;
  return static_cast<int>(std::clamp<std::int64_t>(std::min(wanted, map_tiles / 4), 1, 4096));
}

template <class T>
bool is_aligned(const void* data, int dimension) {
  return dimension % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % (4 * sizeof(T)) == 0;
}

template <class T>
int launch_items(const Items& items, unsigned blocks, bool aligned, cudaStream_t stream) {
  if (items.dimension <= 24 && aligned) {
    nearest_kernel<T, 24, true, true><<<blocks, kThreads, 0, stream>>>(items);
  } else if (items.dimension <= 24) {
    nearest_kernel<T, 24, true, false><<<blocks, kThreads, 0, stream>>>(items);
  } else if (aligned) {
    nearest_kernel<T, 16, false, true><<<blocks, kThreads, 0, stream>>>(items);
  } else {
    nearest_kernel<T, 16, false, false><<<blocks, kThreads, 0, stream>>>(items);
  }
  return cudaGetLastError();
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
    const std::int64_t query_tiles = (one.query.rows + kTile - 1) / kTile;
    const std::int64_t map_tiles = (one.map.rows + kTile - 1) / kTile;
    const int splits = splits_for(query_tiles * static_cast<std::int64_t>(work.size()), map_tiles,
                                  multiprocessors);
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

int launch_check_rows(const DeviceRows& rows, float* bias, void* stream) {
  if (rows.rows == 0) return cudaSuccess;
  const unsigned blocks = cuda::blocks_of(rows.rows * 8);
  const auto on = static_cast<cudaStream_t>(stream);
  if (rows.type == ElementType::float32) {
    cuda::check_rows_kernel<<<blocks, cuda::kThreads, 0, on>>>(static_cast<const float*>(rows.data),
                                                               rows.rows, rows.dimension, bias);
  } else if (rows.type == ElementType::float16) {
    cuda::check_rows_kernel<<<blocks, cuda::kThreads, 0, on>>>(
        static_cast<const __half*>(rows.data), rows.rows, rows.dimension, bias);
  } else {
    cuda::check_rows_kernel<<<blocks, cuda::kThreads, 0, on>>>(
        static_cast<const __nv_bfloat16*>(rows.data), rows.rows, rows.dimension, bias);
  }
  return cudaGetLastError();
}

int launch_clear_keys(MatchKey* keys, std::int64_t count, void* stream) {
  return cudaMemsetAsync(keys, 0, count * sizeof(MatchKey), static_cast<cudaStream_t>(stream));
}

int launch_accumulate(std::span<const MatchWork> work, int multiprocessors, void* stream) {
  if (work.empty()) return cudaSuccess;
  const auto on = static_cast<cudaStream_t>(stream);
  const ElementType type = work.front().query.type;
  if (type == ElementType::float32) return cuda::accumulate<float>(work, multiprocessors, on);
  if (type == ElementType::float16) return cuda::accumulate<__half>(work, multiprocessors, on);
  return cuda::accumulate<__nv_bfloat16>(work, multiprocessors, on);
}

int launch_decode(MatchKey* keys_to_indices, float* scores, std::int64_t count, void* stream) {
  if (count == 0) return cudaSuccess;
  cuda::decode_kernel<<<cuda::blocks_of(count), cuda::kThreads, 0,
                        static_cast<cudaStream_t>(stream)>>>(keys_to_indices, scores, count);
  return cudaGetLastError();
}

}  // namespace skyfix::match
