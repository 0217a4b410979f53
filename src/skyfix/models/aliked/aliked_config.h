// The sizes of ALIKED's variants.
#pragma once

#include <cstdint>

#include "skyfix/nn/tensor_source.h"

namespace skyfix::aliked {

// n16, n16rot, n32 or t16, by the shapes of the weights; n16 for synthetic ones and where a tensor
// that says it is missing.
struct Config {
  std::int64_t c1 = 16, c2 = 32, c3 = 64, c4 = 128;
  std::int64_t dimension = 128;
  std::int64_t samples = 16;  // that the descriptor head takes around a keypoint
  static Config of(const TensorSource& source);
};

}  // namespace skyfix::aliked
