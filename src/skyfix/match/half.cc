#include "skyfix/match/half.h"

#include <bit>
#include <cstring>

namespace skyfix {
namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::uint32_t kInfinity = 0x7f800000;
constexpr std::uint32_t kRebias = (127 - 15) << 23;  // binary32's exponent bias less binary16's

template <float (*from_bits)(std::uint16_t)>
void widen(const void* elements, std::size_t count, float* floats) {
  const auto* bits = static_cast<const std::uint16_t*>(elements);
  for (std::size_t i = 0; i < count; ++i) floats[i] = from_bits(bits[i]);
}

}  // namespace

float float_from_float16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t(bits & 0x8000) << 16;
  const std::uint32_t exponent = bits >> 10 & 31;
  const std::uint32_t fraction = bits & 1023;
  if (exponent == 0) {  // zero or subnormal: a multiple of 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t upper = exponent == 31 ? kInfinity : (exponent << 23) + kRebias;
  return std::bit_cast<float>(sign | upper | fraction << 13);
}

float float_from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t(bits) << 16);
}

std::uint16_t float16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & kMagnitude;
  if (magnitude > kInfinity) return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
  // 65,520 lies half-way between the largest number and what would come next: to even is up.
  if (magnitude >= std::bit_cast<std::uint32_t>(65520.0f)) return sign | 0x7c00;
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-14f)) {
    // Subnormal. Floats from 1/2 to 1 are 2^-24 apart too, so the addition rounds as wanted.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | (std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f));
  }
  const std::uint32_t rebiased = magnitude - kRebias;
  return sign | (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13;
}

std::uint16_t bfloat16_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & kMagnitude) > kInfinity) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

void widen_elements(RowType type, const void* elements, std::size_t count, float* floats) {
  switch (type) {
    case RowType::float32:
      std::memcpy(floats, elements, count * sizeof(float));
      break;
    case RowType::float16:
      widen<float_from_float16>(elements, count, floats);
      break;
    case RowType::bfloat16:
      widen<float_from_bfloat16>(elements, count, floats);
      break;
  }
}

}  // namespace skyfix
