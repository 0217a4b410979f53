// The kernel in AVX2 and FMA: 6 rows by 2 vectors leave 4 of the 16 registers for operands.
#include "skyfix/match/kernel.h"

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>

#include "skyfix/match/sweep.h"

namespace skyfix::match {
namespace {

struct Avx2 {
  using Float = __m256;
  using Int = __m256i;
  using Mask = __m256;
  static constexpr int kLanes = 8;

  static Float load(const float* p) { return _mm256_load_ps(p); }
  static Int load(const std::int32_t* p) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store(float* p, Float v) { _mm256_store_ps(p, v); }
  static void store(std::int32_t* p, Int v) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static Float broadcast(float v) { return _mm256_set1_ps(v); }
  static Int broadcast(std::int32_t v) { return _mm256_set1_epi32(v); }
  static Int lane_numbers() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Float multiply_add(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  // b where a is NaN.
  static Float larger(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Mask greater(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
  static Mask equal(Float a, Float b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
  static Mask differ(Int a, Int b) {
    const Int same = _mm256_cmpeq_epi32(a, b);
    return _mm256_castsi256_ps(_mm256_xor_si256(same, _mm256_set1_epi32(-1)));
  }
  static Mask both(Mask a, Mask b) { return _mm256_and_ps(a, b); }
  static bool any(Mask m) { return _mm256_movemask_ps(m) != 0; }
  static Float select(Mask m, Float a, Float b) { return _mm256_blendv_ps(b, a, m); }
  static Int select(Mask m, Int a, Int b) {
    return _mm256_blendv_epi8(b, a, _mm256_castps_si256(m));
  }
  static float largest(Float v) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
  }
  static std::int32_t smallest(Int v) {
    __m128i half = _mm_min_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    half = _mm_min_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    return _mm_cvtsi128_si32(_mm_min_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
  }
};

constexpr Kernel kKernel = kernel_of<Sweep<Avx2, 6, 2>>();

}  // namespace

const Kernel* avx2_kernel() { return &kKernel; }

}  // namespace skyfix::match
#else
const skyfix::match::Kernel* skyfix::match::avx2_kernel() { return nullptr; }
#endif
