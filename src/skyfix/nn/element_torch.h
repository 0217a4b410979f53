// The number that our kernels know an element type by.
#pragma once

#include <ATen/ATen.h>

namespace skyfix::nn {

// 0 float32, 1 float16, 2 bfloat16.
inline int element_number(at::ScalarType type) {
  return type == at::kFloat ? 0 : type == at::kHalf ? 1 : 2;
}

}  // namespace skyfix::nn
