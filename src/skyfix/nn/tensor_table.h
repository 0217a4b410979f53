// What a file of tensors holds, as its reader hands it over.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct TensorTable {
  // Their bytes lie in the file's, or in `owned`.
  std::map<std::string, StoredTensor, std::less<>> tensors;
  std::map<std::string, std::string> metadata;
  std::vector<std::shared_ptr<const std::byte[]>> owned;
};

// The number of elements; nullopt for a size below zero or a product that does not fit.
inline std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    fits = fits && !__builtin_mul_overflow(count, size, &count);
    if (size == 0) return 0;
  }
  return fits ? std::optional(count) : std::nullopt;
}

// Whether one of these booleans is neither 0 nor 1.
inline bool has_bad_boolean(std::span<const std::byte> booleans) {
  for (const std::byte value : booleans) {
    if (value > std::byte{1}) return true;
  }
  return false;
}

}  // namespace skyfix
