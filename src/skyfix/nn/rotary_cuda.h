// The launch behind CudaNnEntry::rotate: pointers, sizes and a stream; no LibTorch.
#pragma once

#include "skyfix/nn/cuda_nn.h"

namespace skyfix::nn {

// `stream` is a cudaStream_t. Returns a cudaError_t as int (0 = success); allocates nothing.
int launch_rotary(const RotaryWork& work, void* stream);

}  // namespace skyfix::nn
