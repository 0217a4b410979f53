// The kernel for any processor: the compiler's own four-lane vectors (SSE2 or NEON where there is
// one, scalar code elsewhere). It multiplies and adds in two roundings, so its scores may differ
// from the fused kernels' in the last bits.
#include "skyfix/match/kernel.h"
#include "skyfix/match/sweep.h"

namespace skyfix::match {
namespace {

struct Portable {
  typedef float Float __attribute__((vector_size(16)));
  typedef std::int32_t Int __attribute__((vector_size(16)));
  using Mask = Int;  // all bits or none
  static constexpr int kLanes = 4;

  static Float load(const float* p) { return *reinterpret_cast<const Float*>(p); }
  static Int load(const std::int32_t* p) { return *reinterpret_cast<const Int*>(p); }
  static void store(float* p, Float v) { *reinterpret_cast<Float*>(p) = v; }
  static void store(std::int32_t* p, Int v) { *reinterpret_cast<Int*>(p) = v; }
  static Float broadcast(float v) { return Float{v, v, v, v}; }
  static Int broadcast(std::int32_t v) { return Int{v, v, v, v}; }
  static Int lane_numbers() { return Int{0, 1, 2, 3}; }
  static Int add(Int a, Int b) { return a + b; }
  static Float multiply_add(Float a, Float b, Float c) { return a * b + c; }
  // b where a is NaN.
  static Float larger(Float a, Float b) { return a > b ? a : b; }
  static Mask greater(Float a, Float b) { return a > b; }
  static Mask equal(Float a, Float b) { return a == b; }
  static Mask differ(Int a, Int b) { return a != b; }
  static Mask both(Mask a, Mask b) { return a & b; }
  static bool any(Mask m) { return (m[0] | m[1] | m[2] | m[3]) != 0; }
  static Float select(Mask m, Float a, Float b) { return m ? a : b; }
  static Int select(Mask m, Int a, Int b) { return m ? a : b; }
  static float largest(Float v) {
    float best = v[0];
    for (int i = 1; i < kLanes; ++i) best = v[i] > best ? v[i] : best;
    return best;
  }
  static std::int32_t smallest(Int v) {
    std::int32_t best = v[0];
    for (int i = 1; i < kLanes; ++i) best = v[i] < best ? v[i] : best;
    return best;
  }
};

constexpr Kernel kKernel = kernel_of<Sweep<Portable, 4, 2>>();

}  // namespace

const Kernel* scalar_kernel() { return &kKernel; }

}  // namespace skyfix::match
