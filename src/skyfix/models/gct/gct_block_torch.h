// The transformer block that image encoder, frame blocks, global blocks and camera head share
// (specification: gctstream.md sections 4, 6 and 7). The residual stream is fp32 in any precision:
// through more than 70 blocks a bf16 one would lose what bf16 products have.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>

#include "skyfix/models/gct/gct_rotary_torch.h"
#include "skyfix/nn/layers_torch.h"

namespace skyfix::gct {

struct BlockShape {
  std::int64_t width = 0;
  std::int64_t hidden = 0;  // of the MLP
  std::int64_t heads = 0;
  double epsilon = 1e-5;    // of norm1 and norm2
  bool head_norms = false;  // q_norm, k_norm
};

// softmax(q K^T / sqrt(size)) V of [B, heads, T, size], whatever K and V are besides k and v.
using Attend =
    std::function<at::Tensor(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)>;
// k and v alone.
at::Tensor attend_within(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

// nn::Linear of fp32 values in the weights' precision; fp32 or that.
at::Tensor narrowed(const nn::Linear& linear, const at::Tensor& x);

class Block {
 public:
  Block() = default;
  // Norms and scales are held in fp32, the rest in the reader's precision.
  Block(const nn::WeightReader& weights, const BlockShape& shape);

  // x fp32 [B, T, width]; `rotation` null: no positions. q, k and v come to `attend` in the
  // weights' precision, q and k normalised and turned.
  at::Tensor operator()(const at::Tensor& x, const Rotation* rotation, const Attend& attend) const;

 private:
  at::Tensor attended(const at::Tensor& x, const Rotation* rotation, const Attend& attend) const;
  at::Tensor normalised_head(const at::Tensor& heads, const nn::LayerNorm& norm,
                             const Rotation* rotation) const;

  std::int64_t heads_ = 1;
  nn::LayerNorm norm1_, norm2_;
  nn::Linear qkv_, projection_;
  nn::LayerNorm q_norm_, k_norm_;  // undefined without
  at::Tensor scale1_, scale2_;     // [width]
  nn::Mlp mlp_;
};

}  // namespace skyfix::gct
