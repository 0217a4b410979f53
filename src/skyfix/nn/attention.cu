// Merging partial attention by log-sum-exp, and rows in 8 bits. All are bound by memory: a thread
// takes 16 bytes of the narrow side at once.
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>

#include "skyfix/nn/attention_kernels.h"
#include "skyfix/nn/element.cuh"

namespace skyfix::nn {
namespace {

constexpr int kThreads = 256;
constexpr float kMostInt8 = 127.0F, kMostFp8 = 448.0F;

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

// `Count` neighbouring elements, moved as one or more 16-byte words.
template <class Element, int Count>
struct alignas(sizeof(Element) * Count < 16 ? sizeof(Element) * Count : 16) Run {
  Element values[Count];
};

constexpr int kMergeRun = 8;

// Weights of the two parts; a part without keys has none.
__device__ void part_weights(float a, float b, float* weight_a, float* weight_b) {
  const bool no_a = isinf(a), no_b = isinf(b);
  const float top = no_a ? b : no_b ? a : fmaxf(a, b);
  const float x = no_a ? 0.0F : __expf(a - top), y = no_b ? 0.0F : __expf(b - top);
  const float sum = x + y;
  *weight_a = sum > 0 ? x / sum : 0.0F;
  *weight_b = sum > 0 ? y / sum : 0.0F;
}

template <class Element>
__global__ void merge_kernel(MergeWork work) {
  using Eight = Run<Element, kMergeRun>;
  const std::int64_t runs = std::int64_t{work.heads} * work.size / kMergeRun;  // of a token
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= work.tokens * runs) return;
  const std::int64_t token = index / runs, run = index - token * runs;
  const std::int64_t head = run * kMergeRun / work.size;
  float weight_a, weight_b;
  part_weights(work.a_log_sum[head * work.tokens + token],
               work.b_log_sum[head * work.tokens + token], &weight_a, &weight_b);
  const Eight a = reinterpret_cast<const Eight*>(static_cast<const Element*>(work.a) +
                                                 token * work.a_stride)[run];
  const Eight b = reinterpret_cast<const Eight*>(static_cast<const Element*>(work.b) +
                                                 token * work.b_stride)[run];
  Eight out;
#pragma unroll
  for (int i = 0; i < kMergeRun; ++i) {
    // A part without keys may hold anything.
    const float x = weight_a == 0 ? 0.0F : widened(a.values[i]) * weight_a;
    const float y = weight_b == 0 ? 0.0F : widened(b.values[i]) * weight_b;
    narrow(x + y, &out.values[i]);
  }
  reinterpret_cast<Eight*>(work.out)[index] = out;
}

__device__ std::uint8_t stored(float value, bool fp8) {
  if (fp8) return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3);
  const float rounded = rintf(fminf(fmaxf(value, -kMostInt8), kMostInt8));
  return static_cast<std::uint8_t>(static_cast<std::int8_t>(rounded));
}

// A warp takes one head of one row.
template <class Element>
__global__ void quantise_kernel(QuantiseWork work) {
  const std::int64_t pair =
      (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) / warpSize;  // of row and head
  if (pair >= work.tokens * work.heads) return;
  const int lane = threadIdx.x % warpSize;
  const std::int64_t token = pair / work.heads, head = pair - token * work.heads;
  const Element* row =
      static_cast<const Element*>(work.rows) + token * work.row_stride + head * work.size;
  float values[4];  // of heads up to 128 entries
  float most = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int entry = lane + i * warpSize;
    values[i] = entry < work.size ? widened(row[entry]) : 0.0F;
    most = fmaxf(most, fabsf(values[i]));
  }
  for (int apart = warpSize / 2; apart > 0; apart /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, apart));
  }
  // Rounded up, so that the largest entry stays within range; what is stored is divided by the
  // rounded scale.
  const __nv_bfloat16 scale = __float2bfloat16_ru(most / (work.fp8 ? kMostFp8 : kMostInt8));
  const float by = widened(scale) > 0 ? 1.0F / widened(scale) : 0.0F;
  const std::int64_t at =
      ((work.first_row == nullptr ? 0 : *work.first_row) + token) * work.heads + head;
  if (lane == 0) static_cast<__nv_bfloat16*>(work.scales)[at] = scale;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int entry = lane + i * warpSize;
    if (entry < work.size) {
      static_cast<std::uint8_t*>(work.values)[at * work.size + entry] =
          stored(values[i] * by, work.fp8);
    }
  }
}

constexpr int kNarrowRun = 16;

template <bool Fp8>
__device__ float widened8(std::uint8_t value) {
  if constexpr (Fp8) {
    return __half2float(__half(__nv_cvt_fp8_to_halfraw(value, __NV_E4M3)));
  } else {
    return static_cast<float>(static_cast<std::int8_t>(value));
  }
}

template <class Element, bool Fp8>
__global__ void dequantise_kernel(DequantiseWork work) {
  using Narrow = Run<std::uint8_t, kNarrowRun>;
  using Wide = Run<Element, kNarrowRun>;
  const int runs = work.size / kNarrowRun;  // of a head
  const std::int64_t tokens = work.used == nullptr ? work.tokens : *work.used;
  const std::int64_t all = tokens * work.heads * runs;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < all; i += step) {
    const Narrow narrow_run = static_cast<const Narrow*>(work.values)[i];
    const float scale = widened(static_cast<const __nv_bfloat16*>(work.scales)[i / runs]);
    Wide wide;
#pragma unroll
    for (int j = 0; j < kNarrowRun; ++j) {
      narrow(widened8<Fp8>(narrow_run.values[j]) * scale, &wide.values[j]);
    }
    static_cast<Wide*>(work.rows)[i] = wide;
  }
}

template <class Element>
int merge(const MergeWork& work, cudaStream_t stream) {
  const std::int64_t threads = work.tokens * work.heads * work.size / kMergeRun;
  if (threads == 0) return cudaSuccess;
  merge_kernel<Element><<<blocks_for(threads), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

template <class Element>
int quantise(const QuantiseWork& work, cudaStream_t stream) {
  const std::int64_t threads = work.tokens * work.heads * 32;
  if (threads == 0) return cudaSuccess;
  quantise_kernel<Element><<<blocks_for(threads), kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

template <class Element>
int dequantise(const DequantiseWork& work, cudaStream_t stream) {
  constexpr std::int64_t kMostBlocks = 132 * 16;  // several rounds of a large card
  const std::int64_t threads = work.tokens * work.heads * work.size / kNarrowRun;
  if (threads == 0) return cudaSuccess;
  const auto blocks =
      static_cast<unsigned>(blocks_for(threads) < kMostBlocks ? blocks_for(threads) : kMostBlocks);
  if (work.fp8) {
    dequantise_kernel<Element, true><<<blocks, kThreads, 0, stream>>>(work);
  } else {
    dequantise_kernel<Element, false><<<blocks, kThreads, 0, stream>>>(work);
  }
  return cudaGetLastError();
}

}  // namespace

int launch_merge(const MergeWork& work, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (work.element == 0) return merge<float>(work, on);
  if (work.element == 1) return merge<__half>(work, on);
  return merge<__nv_bfloat16>(work, on);
}

int launch_quantise(const QuantiseWork& work, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (work.element == 0) return quantise<float>(work, on);
  if (work.element == 1) return quantise<__half>(work, on);
  return quantise<__nv_bfloat16>(work, on);
}

int launch_dequantise(const DequantiseWork& work, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (work.element == 0) return dequantise<float>(work, on);
  if (work.element == 1) return dequantise<__half>(work, on);
  return dequantise<__nv_bfloat16>(work, on);
}

}  // namespace skyfix::nn
