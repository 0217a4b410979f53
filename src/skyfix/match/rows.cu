// What comes before and after the products: which rows are usable, and keys as indices and scores.
// One or two sides a launch.
#include "skyfix/match/match_key.h"
#include "skyfix/match/nearest_cuda.h"
#include "skyfix/match/tile_product.cuh"

namespace skyfix::match {
namespace cuda {

// Rows of one or two sides, one after the other.
template <class T>
struct CheckSide {
  const T* data;
  float* bias;
  MatchKey* keys;  // cleared; null = none
  std::int64_t rows;
};

template <class T>
__global__ void check_rows_kernel(CheckSide<T> side, CheckSide<T> other, int dimension) {
  // Eight threads a row.
  std::int64_t row = (blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x) / 8;
  if (row >= side.rows) {
    row -= side.rows;
    side = other;
  }
  bool bad = false;
  if (row < side.rows) {
    for (int k = threadIdx.x % 8; k < dimension; k += 8) {
      bad |= !isfinite(widen(side.data[row * dimension + k]));
    }
  }
  const unsigned votes = __ballot_sync(0xffffffffu, bad);
  if (row < side.rows && threadIdx.x % 8 == 0) {
    side.bias[row] = (votes >> (threadIdx.x % 32)) & 0xffu ? kNone : 0.0f;
    if (side.keys != nullptr) side.keys[row] = 0;
  }
}

__global__ void decode_kernel(KeySide side, KeySide other) {
  std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= side.count) {
    i -= side.count;
    side = other;
  }
  if (i >= side.count) return;
  const MatchKey key = side.keys[i];
  side.scores[i] = key_score(key);
  reinterpret_cast<std::int64_t*>(side.keys)[i] = key_index(key);
}

__global__ void keep_mutual_kernel(MutualWork work) {
  const std::int64_t j = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (j >= work.map_rows) return;
  const std::int64_t i = work.map_indices[j];
  const bool mutual = i >= 0 && work.query_indices[i] == j;
  if (!mutual) work.map_indices[j] = -1;
  if (work.sure == nullptr) return;
  float sure = 0;
  if (mutual) {
    const float asking = work.query_sure[i], answering = work.map_sure[j];
    sure = answering < asking ? answering : asking;  // as std::min
  }
  work.sure[j] = sure;
}

constexpr int kSmallKernelThreads = 256;

unsigned blocks_of(std::int64_t threads) {
  return static_cast<unsigned>((threads + kSmallKernelThreads - 1) / kSmallKernelThreads);
}

template <class T>
int check_both_as(const RowSide& side, const RowSide& other, cudaStream_t stream) {
  const auto typed = [](const RowSide& of) {
    return CheckSide<T>{static_cast<const T*>(of.rows.data), of.bias, of.keys, of.rows.rows};
  };
  const std::int64_t rows = side.rows.rows + other.rows.rows;
  check_rows_kernel<<<blocks_of(rows * 8), kSmallKernelThreads, 0, stream>>>(
      typed(side), typed(other), side.rows.dimension);
  return cudaGetLastError();
}

}  // namespace cuda

int launch_check_both(const RowSide& side, const RowSide& other, void* stream) {
  if (side.rows.rows + other.rows.rows == 0) return cudaSuccess;
  const auto on = static_cast<cudaStream_t>(stream);
  if (side.rows.type == RowType::float32) return cuda::check_both_as<float>(side, other, on);
  if (side.rows.type == RowType::float16) return cuda::check_both_as<__half>(side, other, on);
  return cuda::check_both_as<__nv_bfloat16>(side, other, on);
}

int launch_check_rows(const DeviceRows& rows, float* bias, void* stream) {
  return launch_check_both({rows, bias, nullptr}, {}, stream);
}

int launch_clear_keys(MatchKey* keys, std::int64_t count, void* stream) {
  return cudaMemsetAsync(keys, 0, count * sizeof(MatchKey), static_cast<cudaStream_t>(stream));
}

int launch_decode_both(const KeySide& side, const KeySide& other, void* stream) {
  if (side.count + other.count == 0) return cudaSuccess;
  cuda::decode_kernel<<<cuda::blocks_of(side.count + other.count), cuda::kSmallKernelThreads, 0,
                        static_cast<cudaStream_t>(stream)>>>(side, other);
  return cudaGetLastError();
}

int launch_keep_mutual(const MutualWork& work, void* stream) {
  if (work.map_rows == 0) return cudaSuccess;
  cuda::keep_mutual_kernel<<<cuda::blocks_of(work.map_rows), cuda::kSmallKernelThreads, 0,
                             static_cast<cudaStream_t>(stream)>>>(work);
  return cudaGetLastError();
}

int launch_decode(MatchKey* keys_to_indices, float* scores, std::int64_t count, void* stream) {
  return launch_decode_both({keys_to_indices, scores, count}, {}, stream);
}

}  // namespace skyfix::match
