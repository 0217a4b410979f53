// The inner part of the matcher on the GPU: a block of 256 threads holds the products of 128 query
// rows with 128 map rows in registers, 8 x 8 a thread, and walks over map tiles. Rows are read from
// device memory into registers while the tile before is multiplied, then put transposed into shared
// memory (two buffers, one barrier a step).
//
// Every product is one chain of fused multiply-adds, k rising: the CPU kernels' (sweep.h), so that
// both give equal bits. Tensor cores are left alone: at 24 entries a row half of the time is
// finding maxima, and their split products would need an error proof instead of an equality.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace skyfix::match::cuda {

constexpr int kTile = 128;     // rows of either side
constexpr int kThreads = 256;  // 16 x 16, each with 8 x 8 products
constexpr int kMicro = 8;      // two groups of four rows by two of four columns

constexpr float kNone = -__builtin_inff();

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }

// Four neighbouring entries in one read.
__device__ inline float4 read4(const float* p) { return *reinterpret_cast<const float4*>(p); }
template <class Half>
__device__ inline float4 read4(const Half* p) {
  const uint2 raw = *reinterpret_cast<const uint2*>(p);
  const Half* h = reinterpret_cast<const Half*>(&raw);
  return {widen(h[0]), widen(h[1]), widen(h[2]), widen(h[3])};
}

// Whether rows of this dimension at this address allow read4.
template <class T>
bool is_aligned(const void* data, int dimension) {
  return dimension % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % (4 * sizeof(T)) == 0;
}

// Entries [k, k + 4) of a row, zero beyond its end. Aligned: dimension and address allow read4.
template <bool Aligned, class T>
__device__ inline float4 entries(const T* row, int k, int dimension) {
  if (Aligned) return k < dimension ? read4(row + k) : float4{0, 0, 0, 0};
  float4 v{0, 0, 0, 0};
  if (k < dimension) v.x = widen(row[k]);
  if (k + 1 < dimension) v.y = widen(row[k + 1]);
  if (k + 2 < dimension) v.z = widen(row[k + 2]);
  if (k + 3 < dimension) v.w = widen(row[k + 3]);
  return v;
}

// A thread's share of K entries of 128 rows on their way from device to shared memory: one row,
// every other group of four entries. Neighbouring threads take neighbouring rows, so that the
// transposed writes do not collide.
template <int K>
struct TileInFlight {
  float4 part[K / 8];

  __device__ static int row() { return threadIdx.x % kTile; }
  __device__ static int entry(int i) { return 4 * (2 * i + threadIdx.x / kTile); }

  // `row` is null beyond the last row.
  template <bool Aligned, class T>
  __device__ void read(const T* row, int first_k, int dimension) {
#pragma unroll
    for (int i = 0; i < K / 8; ++i) {
      part[i] = row == nullptr ? float4{0, 0, 0, 0}
                               : entries<Aligned>(row, first_k + entry(i), dimension);
    }
  }

  // Unusable rows go in as zeros: a NaN must not spread.
  __device__ void write(float* shared, bool usable) const {
#pragma unroll
    for (int i = 0; i < K / 8; ++i) {
      float* line = shared + entry(i) * kTile + row();
      line[0] = usable ? part[i].x : 0;
      line[kTile] = usable ? part[i].y : 0;
      line[2 * kTile] = usable ? part[i].z : 0;
      line[3 * kTile] = usable ? part[i].w : 0;
    }
  }
};

// Where a thread's 8 x 8 products lie in the tile: a warp covers 4 x 8 threads.
struct Place {
  int y;  // 0..15
  int x;  // 0..15
  __device__ Place() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    y = warp / 2 * 4 + lane / 8;
    x = warp % 2 * 8 + lane % 8;
  }
  __device__ int row(int r) const { return r / 4 * 64 + y * 4 + r % 4; }
  __device__ int column(int c) const { return c / 4 * 64 + x * 4 + c % 4; }
};

// Eight of a line of 128: four at `at` groups of four, four half a line on. Reads of 16 bytes
// without bank conflicts.
__device__ inline void take8(const float* line, int at, float (&v)[kMicro]) {
  const float4 low = *reinterpret_cast<const float4*>(line + at * 4);
  const float4 high = *reinterpret_cast<const float4*>(line + kTile / 2 + at * 4);
  v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
  v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
}

// acc = or += the products of K entries. First: the chain starts here (fma(q, m, 0) = q m).
template <int K, bool First>
__device__ inline void multiply(const float* query, const float* map, const Place& place,
                                float (&acc)[kMicro][kMicro]) {
#pragma unroll
  for (int k = 0; k < K; ++k) {
    float q[kMicro], m[kMicro];
    take8(query + k * kTile, place.y, q);
    take8(map + k * kTile, place.x, m);
#pragma unroll
    for (int r = 0; r < kMicro; ++r) {
#pragma unroll
      for (int c = 0; c < kMicro; ++c) {
        acc[r][c] = First && k == 0 ? __fmul_rn(q[r], m[c]) : __fmaf_rn(q[r], m[c], acc[r][c]);
      }
    }
  }
}

}  // namespace skyfix::match::cuda
