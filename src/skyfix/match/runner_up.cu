// For pairs already found: the best product of each pair's query row with map rows of another
// group. A fraction of the matcher's work (only paired rows), so one buffer and two barriers a step
// do.
#include <algorithm>

#include "skyfix/match/nearest_cuda.h"
#include "skyfix/match/tile_product.cuh"

namespace skyfix::match {
namespace cuda {

struct RunnerUpWork {
  const void* query;
  const float* query_bias;
  const std::int64_t* listed;
  const std::uint32_t* row_group;
  std::int64_t listed_count;
  const void* map;
  const float* map_bias;
  const std::uint32_t* map_group;
  std::int64_t map_rows;
  int dimension;
  int splits;
  float* best;
};

constexpr int kRunnerUpEntries = 16;

struct RunnerUpShared {
  float query[kRunnerUpEntries * kTile];
  float map[kRunnerUpEntries * kTile];
  float map_bias[kTile];
  std::uint32_t map_group[kTile];
};

// The maximum of floats of any sign by integer atomics; NaN never comes here.
__device__ inline void atomic_max(float* at, float value) {
  value += 0.0f;
  if (value >= 0) {
    atomicMax(reinterpret_cast<int*>(at), __float_as_int(value));
  } else {
    atomicMin(reinterpret_cast<unsigned*>(at), __float_as_uint(value));
  }
}

template <class T, bool Aligned>
__device__ void multiply_tile(const T* query_row, const T* map_row, int dimension,
                              const Place& place, RunnerUpShared& shared,
                              float (&acc)[kMicro][kMicro]) {
  TileInFlight<kRunnerUpEntries> query, map;
#pragma unroll
  for (int r = 0; r < kMicro; ++r) {
#pragma unroll
    for (int c = 0; c < kMicro; ++c) acc[r][c] = 0;
  }
  for (int k = 0; k < dimension; k += kRunnerUpEntries) {
    query.template read<Aligned>(query_row, k, dimension);
    map.template read<Aligned>(map_row, k, dimension);
    __syncthreads();
    query.write(shared.query, true);
    map.write(shared.map, true);
    __syncthreads();
    multiply<kRunnerUpEntries, false>(shared.query, shared.map, place, acc);
  }
}

template <class T, bool Aligned>
__global__ __launch_bounds__(kThreads, 2) void runner_up_kernel(const RunnerUpWork work) {
  __shared__ __align__(16) RunnerUpShared shared;
  const Place place;
  const std::int64_t first_listed = std::int64_t{blockIdx.x} / work.splits * kTile;
  const std::int64_t split = blockIdx.x % work.splits;
  const std::int64_t tiles = (work.map_rows + kTile - 1) / kTile;
  const int mine = threadIdx.x % kTile;

  const T* query_row = nullptr;
  if (first_listed + mine < work.listed_count) {
    const std::int64_t row = work.listed[first_listed + mine];
    if (work.query_bias[row] == 0) {
      query_row = static_cast<const T*>(work.query) + row * work.dimension;
    }
  }
  std::uint32_t group[kMicro];
  float best[kMicro];
#pragma unroll
  for (int r = 0; r < kMicro; ++r) {
    const std::int64_t at = first_listed + place.row(r);
    group[r] = at < work.listed_count ? work.row_group[at] : 0;
    best[r] = kNone;
  }
  for (std::int64_t tile = tiles * split / work.splits; tile < tiles * (split + 1) / work.splits;
       ++tile) {
    const std::int64_t at = tile * kTile + mine;
    const float bias = at < work.map_rows ? work.map_bias[at] : kNone;
    const T* map_row = bias == 0 ? static_cast<const T*>(work.map) + at * work.dimension : nullptr;
    float acc[kMicro][kMicro];
    __syncthreads();
    if (threadIdx.x < kTile) {
      shared.map_bias[mine] = bias;
      shared.map_group[mine] = at < work.map_rows ? work.map_group[at] : 0;
    }
    multiply_tile<T, Aligned>(query_row, map_row, work.dimension, place, shared, acc);
#pragma unroll
    for (int c = 0; c < kMicro; ++c) {
      const float column_bias = shared.map_bias[place.column(c)];
      const std::uint32_t column_group = shared.map_group[place.column(c)];
#pragma unroll
      for (int r = 0; r < kMicro; ++r) {
        const float other = column_group == group[r] ? kNone : acc[r][c] + column_bias;
        best[r] = fmaxf(best[r], other);
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kMicro; ++r) {
#pragma unroll
    for (int step = 1; step < 8; step *= 2) {
      best[r] = fmaxf(best[r], __shfl_xor_sync(0xffffffffu, best[r], step));
    }
    const std::int64_t at = first_listed + place.row(r);
    // Unusable rows were multiplied as zeros.
    if (threadIdx.x % 8 == 0 && at < work.listed_count && best[r] > kNone &&
        work.query_bias[work.listed[at]] == 0) {
      atomic_max(work.best + at, best[r]);
    }
  }
}

template <class T>
int run(const RunnerUpWork& work, unsigned blocks, cudaStream_t stream) {
  if (is_aligned<T>(work.query, work.dimension) && is_aligned<T>(work.map, work.dimension)) {
    runner_up_kernel<T, true><<<blocks, kThreads, 0, stream>>>(work);
  } else {
    runner_up_kernel<T, false><<<blocks, kThreads, 0, stream>>>(work);
  }
  return cudaGetLastError();
}

}  // namespace cuda

int launch_runner_up(const DeviceRows& query, const std::int64_t* listed,
                     const std::uint32_t* row_group, std::int64_t listed_count,
                     const DeviceRows& map, const std::uint32_t* map_group, float* best,
                     int multiprocessors, void* stream) {
  if (listed_count == 0 || map.rows == 0) return cudaSuccess;
  const std::int64_t query_tiles = (listed_count + cuda::kTile - 1) / cuda::kTile;
  const std::int64_t map_tiles = (map.rows + cuda::kTile - 1) / cuda::kTile;
  const std::int64_t wanted = (4 * std::int64_t{multiprocessors} + query_tiles - 1) / query_tiles;
  const int splits = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, map_tiles));
  const cuda::RunnerUpWork work{query.data,   query.bias,      listed,   row_group,
                                listed_count, map.data,        map.bias, map_group,
                                map.rows,     query.dimension, splits,   best};
  const auto blocks = static_cast<unsigned>(query_tiles * splits);
  const auto on = static_cast<cudaStream_t>(stream);
  if (query.type == RowType::float32) return cuda::run<float>(work, blocks, on);
  if (query.type == RowType::float16) return cuda::run<__half>(work, blocks, on);
  return cuda::run<__nv_bfloat16>(work, blocks, on);
}

}  // namespace skyfix::match
