// LibTorch's errors as ours. Only for sources that LibTorch's headers enter anyway.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <new>
#include <utility>

#include "skyfix/memory/device.h"
#include "skyfix/memory/device_errors.h"

namespace skyfix {

// Runs work(). Throws OutOfDeviceMemory for lack of memory, in LibTorch's allocator or beneath it,
// with `bytes` as what was asked for (0 = unknown), and DeviceFailure for any other c10::Error.
template <class Work>
auto with_torch_errors(std::uint64_t bytes, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const c10::OutOfMemoryError&) {
    throw OutOfDeviceMemory(MemoryFailure::allocator, bytes, "");
  } catch (const c10::Error& error) {
    throw_device_error(error.what_without_backtrace(), bytes);
  }
}

}  // namespace skyfix
