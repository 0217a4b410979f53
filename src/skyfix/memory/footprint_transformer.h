// Parameters and activations of what the networks are made of: transformer blocks and the dense
// (DPT) head. Counts are in values, not bytes.
#pragma once

#include <cstdint>

#include "skyfix/memory/footprint.h"

namespace skyfix {

constexpr std::int64_t linear_parameters(std::int64_t in, std::int64_t out, bool bias = true) {
  return in * out + (bias ? out : 0);
}
// A convolution with a kernel of `side` x `side`.
constexpr std::int64_t convolution_parameters(std::int64_t in, std::int64_t out, std::int64_t side,
                                              bool bias = true) {
  return in * out * side * side + (bias ? out : 0);
}
constexpr std::int64_t norm_parameters(std::int64_t width) { return 2 * width; }

// A pre-norm block: two norms, attention (qkv and projection), MLP.
struct BlockShape {
  std::int64_t width = 0;
  std::int64_t hidden = 0;
  bool layer_scale = false;
  bool head_norms = false;  // q_norm and k_norm over heads of 64
  bool gated = false;       // SwiGLU: two hidden layers side by side
};
std::int64_t block_parameters(const BlockShape& block);

// Bytes that a block holds at its peak for `tokens` tokens. That is in the MLP: the residual stream
// in float32, and of `type` the normed input, the hidden layer before and after its activation
// (three of them when gated) and the output. Attention needs less (normed input, qkv, rotated q and
// k, output, projection: 8 widths against 10) and keeps no matrix: its kernels are fused.
std::uint64_t block_activation_bytes(const BlockShape& block, std::int64_t tokens, DataType type);

// The dense head over a grid of `cells` patches: four maps fused to `features` channels at 8 times
// the grid, then `last` channels, then `patch` times the grid with `final` channels in between.
struct DenseHeadShape {
  std::int64_t patch = 0;
  std::int64_t features = 256;
  std::int64_t last = 128;
  std::int64_t final = 0;
};
// The peak over its stages for one image; convolutions are reckoned with a second copy of their
// input, which cuDNN may make to change its layout. An estimate.
std::uint64_t dense_head_activation_bytes(const DenseHeadShape& head, std::int64_t cells,
                                          DataType type);

}  // namespace skyfix
