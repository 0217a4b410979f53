#include "skyfix/memory/footprint_transformer.h"

#include <algorithm>

namespace skyfix {
namespace {

constexpr std::int64_t kHeadSize = 64;

}  // namespace

std::int64_t block_parameters(const BlockShape& block) {
  const std::int64_t width = block.width;
  const std::int64_t norms = 2 * norm_parameters(width) + (block.layer_scale ? 2 * width : 0) +
                             (block.head_norms ? 2 * norm_parameters(kHeadSize) : 0);
  const std::int64_t attention =
      linear_parameters(width, 3 * width) + linear_parameters(width, width);
  const std::int64_t mlp = (block.gated ? 2 : 1) * linear_parameters(width, block.hidden) +
                           linear_parameters(block.hidden, width);
  return norms + attention + mlp;
}

std::uint64_t block_activation_bytes(const BlockShape& block, std::int64_t tokens, DataType type) {
  const std::int64_t residual = 4 * block.width;
  const std::int64_t values = 2 * block.width + (block.gated ? 3 : 2) * block.hidden;
  return tokens * (residual + values * data_type_bytes(type));
}

std::uint64_t dense_head_activation_bytes(const DenseHeadShape& head, std::int64_t cells,
                                          DataType type) {
  // Values per patch. The fused maps are 4, then 8 times the grid in each direction.
  const std::int64_t kept = 16 * head.features;
  const std::int64_t fused = 64 * head.features;
  const std::int64_t reduced = 64 * head.last;
  const std::int64_t full = head.patch * head.patch * head.last;
  const std::int64_t final = head.patch * head.patch * head.final;
  const std::int64_t peak = std::max({kept + 3 * fused,     // up, 1x1 convolution
                                      2 * fused + reduced,  // to `last` channels
                                      reduced + full,       // up to the image's size
                                      2 * full + final});   // to `final` channels
  return cells * peak * data_type_bytes(type);
}

}  // namespace skyfix
