// Rotary code, in place: a thread turns one pair of entries.
#include <cuda_runtime_api.h>

#include "skyfix/nn/element.cuh"
#include "skyfix/nn/rotary_cuda.h"

namespace skyfix::nn {
namespace {

constexpr int kThreads = 256;

// Products and sums are rounded one by one, as LibTorch's separate operators do: equal to the bit.
template <class Element>
__global__ void rotary_kernel(RotaryWork work) {
  const int half = work.head_size / (2 * work.parts);
  const int pairs = work.heads * work.parts * half;  // of a token
  const std::int64_t index = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= work.tokens * pairs) return;
  const std::int64_t token = index / pairs;
  const int pair = static_cast<int>(index - token * pairs);
  const int part = pair / half, column = pair - part * half;  // part of all heads' parts
  const int entry = work.neighbours ? 2 * column : column, apart = work.neighbours ? 1 : half;
  Element* first = static_cast<Element*>(work.rows) + token * work.row_stride +
                   static_cast<std::int64_t>(part) * 2 * half + entry;
  const std::int64_t table =
      ((token % work.period) * work.parts + part % work.parts) * 2 * half + entry;
  const float a = widened(first[0]), b = widened(first[apart]);
  narrow(__fadd_rn(__fmul_rn(a, work.cos[table]), __fmul_rn(-b, work.sin[table])), first);
  narrow(__fadd_rn(__fmul_rn(b, work.cos[table + apart]), __fmul_rn(a, work.sin[table + apart])),
         first + apart);
}

template <class Element>
int launch(const RotaryWork& work, cudaStream_t stream) {
  const std::int64_t threads =
      work.tokens * work.heads * (work.head_size / 2);
  if (threads == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  rotary_kernel<Element><<<blocks, kThreads, 0, stream>>>(work);
  return cudaGetLastError();
}

}  // namespace

int launch_rotary(const RotaryWork& work, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (work.element == 0) return launch<float>(work, on);
  if (work.element == 1) return launch<__half>(work, on);
  return launch<__nv_bfloat16>(work, on);
}

}  // namespace skyfix::nn
