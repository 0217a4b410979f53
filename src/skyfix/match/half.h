// 16-bit floating point on the host: IEEE 754 binary16 and bfloat16 (the upper half of a binary32).
#pragma once

#include <cstddef>
#include <cstdint>

#include "skyfix/match/match_kernels.h"

namespace skyfix {

// Exact: every 16-bit number is a float32.
float float_from_float16(std::uint16_t bits);
float float_from_bfloat16(std::uint16_t bits);

// To the nearest, ties to even; what is too large becomes infinite, a NaN stays one.
std::uint16_t float16_from_float(float value);
std::uint16_t bfloat16_from_float(float value);

// `count` elements of the given type as float32 (float32 is copied).
void widen_elements(RowType type, const void* elements, std::size_t count, float* floats);

}  // namespace skyfix
