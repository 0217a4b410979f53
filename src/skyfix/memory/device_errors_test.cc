#include "skyfix/memory/device_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyfix {
namespace {

using testing::Eq;
using testing::Optional;

TEST(DeviceErrors, EveryPartThatRunsOutOfMemoryIsRecognised) {
  EXPECT_THAT(
      memory_failure_in("CUDA out of memory. Tried to allocate 646.00 MiB. GPU 0 has a ..."),
      Optional(Eq(MemoryFailure::allocator)));
  EXPECT_THAT(
      memory_failure_in("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate`"),
      Optional(Eq(MemoryFailure::library_workspace)));
  EXPECT_THAT(memory_failure_in("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
              Optional(Eq(MemoryFailure::library_workspace)));
  EXPECT_THAT(memory_failure_in("cudaGraphInstantiate: out of memory"),
              Optional(Eq(MemoryFailure::graph)));
  EXPECT_THAT(memory_failure_in("cuModuleLoadData: CUDA_ERROR_OUT_OF_MEMORY"),
              Optional(Eq(MemoryFailure::module_loading)));
  EXPECT_THAT(memory_failure_in("kernel launch: out of memory"),
              Optional(Eq(MemoryFailure::module_loading)));
  EXPECT_THAT(memory_failure_in("cudaHostAlloc failed: out of memory"),
              Optional(Eq(MemoryFailure::pinned)));
}

TEST(DeviceErrors, SoIsTheHosts) {
  EXPECT_THAT(
      memory_failure_in("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: "
                        "can't allocate memory: you tried to allocate 137438953472 bytes. "
                        "Error code 12 (Cannot allocate memory)"),
      Optional(Eq(MemoryFailure::allocator)));
}

TEST(DeviceErrors, AreThrownAsWhatTheyTell) {
  EXPECT_THROW(throw_device_error("cudaMalloc: out of memory", 5), OutOfDeviceMemory);
  try {
    throw_device_error("unspecified launch failure\nat 0x1234", 0);
    FAIL();
  } catch (const DeviceFailure& failure) {
    EXPECT_STREQ(failure.what(), "unspecified launch failure");
  }
}

TEST(DeviceErrors, OtherErrorsAreNot) {
  for (const char* text :
       {"CUDA error: an illegal memory access was encountered", "unspecified launch failure",
        "CUDA error: device-side assert triggered", "CUBLAS_STATUS_EXECUTION_FAILED",
        "cudaHostAlloc: invalid argument", "pinned memory: invalid device ordinal",
        "cudaGraphInstantiate: invalid argument", ""}) {
    EXPECT_EQ(memory_failure_in(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace skyfix
