#include "skyfix/memory/device.h"

#include <utility>

namespace skyfix {
namespace {

std::string describe(MemoryFailure failure, std::uint64_t bytes, const std::string& owner) {
  std::string text = "out of device memory (" + std::string(memory_failure_name(failure)) + ")";
  if (bytes > 0) text += ": " + std::to_string(bytes) + " bytes";
  if (!owner.empty()) text += (bytes > 0 ? " for '" : ": for '") + owner + "'";
  return text;
}

}  // namespace

std::string_view device_kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
  }
  return "unknown";
}

std::string_view memory_failure_name(MemoryFailure failure) {
  switch (failure) {
    case MemoryFailure::allocator:
      return "allocator";
    case MemoryFailure::library_workspace:
      return "library_workspace";
    case MemoryFailure::module_loading:
      return "module_loading";
    case MemoryFailure::graph:
      return "graph";
    case MemoryFailure::pinned:
      return "pinned";
    case MemoryFailure::injected:
      return "injected";
  }
  return "unknown";
}

OutOfDeviceMemory::OutOfDeviceMemory(MemoryFailure failure, std::uint64_t bytes, std::string owner)
    : failure_(failure),
      bytes_(bytes),
      owner_(std::move(owner)),
      text_(describe(failure_, bytes_, owner_)) {}

}  // namespace skyfix
