#include "skyfix/memory/device_errors.h"

namespace skyfix {
namespace {

struct Sign {
  std::string_view text;
  MemoryFailure failure;
};

// The first that occurs decides: the special ones before "out of memory", which all may contain.
constexpr Sign kSigns[] = {
    {"CUBLAS_STATUS_ALLOC_FAILED", MemoryFailure::library_workspace},
    {"CUDNN_STATUS_ALLOC_FAILED", MemoryFailure::library_workspace},
    {"CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", MemoryFailure::library_workspace},
    {"CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", MemoryFailure::library_workspace},
    {"CUSOLVER_STATUS_ALLOC_FAILED", MemoryFailure::library_workspace},
    {"CUFFT_ALLOC_FAILED", MemoryFailure::library_workspace},
    {"cudaHostAlloc", MemoryFailure::pinned},
    {"cudaHostRegister", MemoryFailure::pinned},
    {"pinned memory", MemoryFailure::pinned},
};
constexpr std::string_view kOutOfMemory[] = {"out of memory", "cudaErrorMemoryAllocation",
                                             "CUDA_ERROR_OUT_OF_MEMORY",
                                             "DefaultCPUAllocator: can't allocate memory"};
constexpr Sign kPlaces[] = {
    {"GraphInstantiate", MemoryFailure::graph},
    {"GraphLaunch", MemoryFailure::graph},
    {"StreamEndCapture", MemoryFailure::graph},
    {"ModuleLoad", MemoryFailure::module_loading},
    {"LibraryLoad", MemoryFailure::module_loading},
    {"KernelLaunch", MemoryFailure::module_loading},
    {"LaunchKernel", MemoryFailure::module_loading},
    {"kernel launch", MemoryFailure::module_loading},
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::optional<MemoryFailure> memory_failure_in(std::string_view message) {
  bool out_of_memory = false;
  for (const std::string_view sign : kOutOfMemory) out_of_memory |= contains(message, sign);
  for (const Sign& sign : kSigns) {
    const bool names_memory = contains(sign.text, "ALLOC") || out_of_memory;
    if (names_memory && contains(message, sign.text)) return sign.failure;
  }
  if (!out_of_memory) return std::nullopt;
  for (const Sign& place : kPlaces) {
    if (contains(message, place.text)) return place.failure;
  }
  return MemoryFailure::allocator;
}

void throw_device_error(std::string_view message, std::uint64_t bytes) {
  if (const auto failure = memory_failure_in(message)) throw OutOfDeviceMemory(*failure, bytes, "");
  throw DeviceFailure(std::string(message.substr(0, message.find('\n'))));
}

}  // namespace skyfix
