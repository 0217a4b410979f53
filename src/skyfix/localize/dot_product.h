// The dot product of two descriptors.
#pragma once

namespace skyfix {

inline float dot_product(const float* a, const float* b, int dimension) {
  float sum = 0;
  for (int k = 0; k < dimension; ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace skyfix
