// Is a polynomial positive on a whole interval? Decided exactly up to rounding, without roots and
// without heap: by the signs of its Bernstein coefficients, halving the interval while they differ
// (Farouki, "The Bernstein polynomial basis: a centennial retrospective", 2012, section 5).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace skyfix::internal {

// 1 / C(Count - 1, i) for all i.
template <std::size_t Count>
constexpr std::array<double, Count> inverse_binomials() {
  std::array<double, Count> inverse{};
  double binomial = 1;
  for (std::size_t i = 0; i < Count; ++i) {
    inverse[i] = 1 / binomial;
    binomial *= static_cast<double>(Count - 1 - i) / static_cast<double>(i + 1);
  }
  return inverse;
}

// Bernstein coefficients over [0, 1] of the polynomial with the power coefficients given.
template <std::size_t Count>
std::array<double, Count> bernstein_from_power(std::array<double, Count> c) {
  // b_j = sum_i C(j, i) / C(n, i) c_i, summed up along Pascal's triangle.
  static constexpr std::array<double, Count> kInverse = inverse_binomials<Count>();
  for (std::size_t i = 1; i < Count; ++i) c[i] *= kInverse[i];
  for (std::size_t level = 1; level < Count; ++level) {
    for (std::size_t j = Count - 1; j >= level; --j) c[j] += c[j - 1];
  }
  return c;
}

// Whether the polynomial with these Bernstein coefficients is positive on [0, 1]. Not finite
// coefficients, and a value that touches zero within `halvings` halvings, count as not positive.
template <std::size_t Count>
bool bernstein_positive(const std::array<double, Count>& b, int halvings = 40) {
  bool all_positive = true;
  for (const double value : b) {
    if (!std::isfinite(value)) return false;
    all_positive = all_positive && value > 0;
  }
  if (all_positive) return true;
  if (!(b.front() > 0) || !(b.back() > 0) || halvings == 0) return false;
  std::array<double, Count> left;
  std::array<double, Count> right = b;  // de Casteljau at the middle, in place
  for (std::size_t level = 0; level < Count; ++level) {
    left[level] = right[0];
    for (std::size_t i = 0; i + 1 + level < Count; ++i) right[i] = (right[i] + right[i + 1]) / 2;
  }
  return bernstein_positive(left, halvings - 1) && bernstein_positive(right, halvings - 1);
}

// Whether c[0] + c[1] x + ... > 0 for all x in [0, end].
template <std::size_t Count>
bool positive_up_to(std::array<double, Count> c, double end) {
  double power = 1;
  double least = c[0];  // nearly always decides: the constant outweighs what is negative
  double size = 0;
  for (std::size_t i = 1; i < Count; ++i) {
    power *= end;
    c[i] *= power;
    least += std::min(c[i], 0.0);
    size += std::abs(c[i]);
  }
  if (least > 0 && std::isfinite(size)) return true;
  return bernstein_positive(bernstein_from_power(c));
}

}  // namespace skyfix::internal
