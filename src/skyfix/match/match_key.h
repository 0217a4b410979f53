// Keys of 64 bits (match_kernels.h), for the host and the GPU alike.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SKYFIX_HOST_DEVICE __host__ __device__
#else
#define SKYFIX_HOST_DEVICE
#endif

namespace skyfix::match {

// Floats in rising order as rising integers; never 0 for a number (0 would be a NaN's).
SKYFIX_HOST_DEVICE inline std::uint32_t ordered_bits(float value) {
  value += 0.0f;  // -0 and +0 are one score
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

SKYFIX_HOST_DEVICE inline float from_ordered_bits(std::uint32_t ordered) {
  const std::uint32_t bits = ordered & 0x80000000u ? ordered & 0x7fffffffu : ~ordered;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Equal scores: the lower index makes the larger key.
SKYFIX_HOST_DEVICE inline std::uint64_t make_key(float score, std::uint32_t index) {
  return (static_cast<std::uint64_t>(ordered_bits(score)) << 32) |
         static_cast<std::uint32_t>(~index);
}

SKYFIX_HOST_DEVICE inline float key_score(std::uint64_t key) {
  return key == 0 ? -__builtin_inff() : from_ordered_bits(static_cast<std::uint32_t>(key >> 32));
}

SKYFIX_HOST_DEVICE inline std::int64_t key_index(std::uint64_t key) {
  return key == 0 ? -1 : static_cast<std::int64_t>(static_cast<std::uint32_t>(~key));
}

}  // namespace skyfix::match
