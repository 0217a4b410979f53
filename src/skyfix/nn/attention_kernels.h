// The launches behind CudaAttentionEntry: pointers, sizes and a stream; no LibTorch.
#pragma once

#include "skyfix/nn/cuda_attention.h"

namespace skyfix::nn {

// `stream` is a cudaStream_t. Return a cudaError_t as int (0 = success); allocate nothing.
int launch_merge(const MergeWork& work, void* stream);
int launch_quantise(const QuantiseWork& work, void* stream);
int launch_dequantise(const DequantiseWork& work, void* stream);

}  // namespace skyfix::nn
