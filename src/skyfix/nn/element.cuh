// What kernels over several element types compute in: fp32, rounded once on the way back.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace skyfix::nn {

__device__ inline float widened(float value) { return value; }
__device__ inline float widened(__half value) { return __half2float(value); }
__device__ inline float widened(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ inline void narrow(float value, float* to) { *to = value; }
__device__ inline void narrow(float value, __half* to) { *to = __float2half_rn(value); }
__device__ inline void narrow(float value, __nv_bfloat16* to) { *to = __float2bfloat16_rn(value); }

}  // namespace skyfix::nn
