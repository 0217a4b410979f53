#include "skyfix/match/simd.h"

#include <algorithm>
#include <cstdlib>

namespace skyfix {
namespace {

// What the processor has and the operating system saves (the builtins ask both).
Simd detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && match::avx512_kernel() != nullptr) return Simd::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      match::avx2_kernel() != nullptr) {
    return Simd::avx2;
  }
#endif
  return Simd::scalar;
}

Simd hardware_simd() {
  static const Simd simd = detect();
  return simd;
}

}  // namespace

std::string_view simd_name(Simd simd) {
  switch (simd) {
    case Simd::automatic:
      return "automatic";
    case Simd::scalar:
      return "scalar";
    case Simd::avx2:
      return "avx2";
    case Simd::avx512:
      return "avx512";
  }
  return "unknown";
}

Simd best_simd() {
  const char* asked = std::getenv("SKYFIX_SIMD");
  if (asked != nullptr) {
    for (const Simd simd : {Simd::scalar, Simd::avx2, Simd::avx512}) {
      if (simd_name(simd) == asked) return std::min(simd, hardware_simd());
    }
  }
  return hardware_simd();
}

namespace match {

const Kernel& kernel_for(Simd simd) {
  switch (simd == Simd::automatic ? best_simd() : std::min(simd, hardware_simd())) {
    case Simd::avx512:
      return *avx512_kernel();
    case Simd::avx2:
      return *avx2_kernel();
    default:
      return *scalar_kernel();
  }
}

}  // namespace match
}  // namespace skyfix
