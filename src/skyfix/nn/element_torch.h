// Element types under their several names: LibTorch's, those of tensors on disk, and the numbers
// that our kernels know them by.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>

#include "skyfix/nn/tensor_source.h"

namespace skyfix::nn {

// 0 float32, 1 float16, 2 bfloat16.
inline int element_number(at::ScalarType type) {
  return type == at::kFloat ? 0 : type == at::kHalf ? 1 : 2;
}

inline at::ScalarType scalar_type_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return at::kDouble;
    case ElementType::f32:
      return at::kFloat;
    case ElementType::f16:
      return at::kHalf;
    case ElementType::bf16:
      return at::kBFloat16;
    case ElementType::i64:
      return at::kLong;
    case ElementType::i32:
      return at::kInt;
    case ElementType::i16:
      return at::kShort;
    case ElementType::i8:
      return at::kChar;
    case ElementType::u8:
      return at::kByte;
    case ElementType::boolean:
      return at::kBool;
  }
  return at::kFloat;
}

// On the host, in the type that is stored.
inline at::Tensor copy_of(const StoredTensor& stored) {
  at::Tensor copy = at::empty(stored.shape, at::dtype(scalar_type_of(stored.type)));
  std::copy_n(stored.bytes.data(), stored.bytes.size(), static_cast<std::byte*>(copy.data_ptr()));
  return copy;
}

}  // namespace skyfix::nn
