// Which known model a file of tensors is, by its tensors' names and shapes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

// Names of known models, the likeliest first: several where models differ in their values only
// (aliked-n16rot and aliked-n16; the two weight sets of dinov3-vitl16). Empty when it is none.
std::vector<std::string> models_with_tensors(const TensorSource& source);

// The known model whose weights were published with this SHA-256; empty when none was.
std::string model_with_digest(std::string_view sha256);

}  // namespace skyfix
