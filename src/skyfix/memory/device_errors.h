// Telling a lack of memory from every other device error, by the texts in which LibTorch, cuBLAS,
// cuDNN and the CUDA runtime report them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "skyfix/memory/device.h"

namespace skyfix {

// The part that ran out of memory; nullopt for an error of another kind.
std::optional<MemoryFailure> memory_failure_in(std::string_view message);

// Throws what the message tells: OutOfDeviceMemory with `bytes` as what was asked for (0 =
// unknown), or DeviceFailure with its first line.
[[noreturn]] void throw_device_error(std::string_view message, std::uint64_t bytes);

}  // namespace skyfix
