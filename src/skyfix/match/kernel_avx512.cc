// The kernel in AVX-512F: 12 rows by 2 vectors leave 8 of the 32 registers for operands.
#include "skyfix/match/kernel.h"

#ifdef __AVX512F__
#include <immintrin.h>

#include "skyfix/match/sweep.h"

namespace skyfix::match {
namespace {

struct Avx512 {
  using Float = __m512;
  using Int = __m512i;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;

  static Float load(const float* p) { return _mm512_load_ps(p); }
  static Int load(const std::int32_t* p) { return _mm512_load_si512(p); }
  static void store(float* p, Float v) { _mm512_store_ps(p, v); }
  static void store(std::int32_t* p, Int v) { _mm512_store_si512(p, v); }
  static Float broadcast(float v) { return _mm512_set1_ps(v); }
  static Int broadcast(std::int32_t v) { return _mm512_set1_epi32(v); }
  static Int lane_numbers() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  static Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Float multiply_add(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  // b where a is NaN.
  static Float larger(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Mask greater(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
  static Mask equal(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
  static Mask differ(Int a, Int b) { return _mm512_cmpneq_epi32_mask(a, b); }
  static Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
  static bool any(Mask m) { return m != 0; }
  static Float select(Mask m, Float a, Float b) { return _mm512_mask_mov_ps(b, m, a); }
  static Int select(Mask m, Int a, Int b) { return _mm512_mask_mov_epi32(b, m, a); }
  static float largest(Float v) { return _mm512_reduce_max_ps(v); }
  static std::int32_t smallest(Int v) { return _mm512_reduce_min_epi32(v); }
};

constexpr Kernel kKernel = kernel_of<Sweep<Avx512, 12, 2>>();

}  // namespace

const Kernel* avx512_kernel() { return &kKernel; }

}  // namespace skyfix::match
#else
const skyfix::match::Kernel* skyfix::match::avx512_kernel() { return nullptr; }
#endif
