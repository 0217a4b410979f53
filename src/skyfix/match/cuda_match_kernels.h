// The matcher's kernels on the GPU, from libskyfix_cuda.so.
#pragma once

#include <memory>

#include "skyfix/match/match_kernels.h"
#include "skyfix/memory/cuda_library.h"

namespace skyfix {

// For the device of open_cuda_device() with these facts. Launch errors throw OutOfDeviceMemory or
// DeviceFailure. Throws Error(no_gpu) when the library is not loaded.
std::unique_ptr<MatchKernels> make_cuda_match_kernels(const CudaContextFacts& facts);

// What libskyfix_cuda.so exports as skyfix_cuda_match().
struct CudaMatchEntry {
  std::unique_ptr<MatchKernels> (*make)(const CudaContextFacts&);
};

}  // namespace skyfix
