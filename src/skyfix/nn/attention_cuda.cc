// Merging and 8-bit rows behind cuda_attention.h. Part of libskyfix_cuda.so.
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <string>

#include "skyfix/memory/device_errors.h"
#include "skyfix/nn/attention_kernels.h"

namespace skyfix::nn {
namespace {

template <class Work>
void launch(int (*kernel)(const Work&, void*), const Work& work) {
  const int status = kernel(work, c10::cuda::getCurrentCUDAStream().stream());
  if (status == cudaSuccess) return;
  cudaGetLastError();
  throw_device_error(
      std::string("kernel launch: ") + cudaGetErrorString(static_cast<cudaError_t>(status)), 0);
}

constexpr CudaAttentionEntry kEntry{
    [](const MergeWork& work) { launch(launch_merge, work); },
    [](const QuantiseWork& work) { launch(launch_quantise, work); },
    [](const DequantiseWork& work) { launch(launch_dequantise, work); },
};

}  // namespace
}  // namespace skyfix::nn

extern "C" __attribute__((visibility("default"))) const skyfix::nn::CudaAttentionEntry*
skyfix_cuda_attention() {
  return &skyfix::nn::kEntry;
}
