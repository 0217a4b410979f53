// The transformer blocks of MASt3R: rotary self-attention, and the decoder's with cross-attention.
// Specification: mast3r.md, sections 4 and 5. Tokens are [B, tokens, width] throughout.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/rotary_torch.h"

namespace skyfix::mast3r {

// Sines and cosines of a grid of patches, fp32 [tokens, 2, D]: for rows and for columns D = half a
// head, to be turned by halves each.
using RotaryTable = nn::RotaryCode;
RotaryTable make_rotary_table(std::int64_t rows, std::int64_t columns, std::int64_t head_size,
                              double base, at::Device device);

// Tables by grid and head size, each made once. Thread-safe.
class RotaryTables {
 public:
  RotaryTables(double base, at::Device device) : base_(base), device_(device) {}
  RotaryTable get(std::int64_t rows, std::int64_t columns, std::int64_t head_size) const;

 private:
  double base_;
  at::Device device_;
  mutable std::mutex mutex_;
  mutable std::map<std::array<std::int64_t, 3>, RotaryTable> tables_;
};

struct BlockShape {
  std::int64_t width = 0;
  std::int64_t hidden = 0;  // of the MLP
  std::int64_t heads = 0;
};

class SelfAttention {
 public:
  SelfAttention() = default;
  SelfAttention(const nn::WeightReader& weights, const BlockShape& shape);
  at::Tensor operator()(const at::Tensor& x, const RotaryTable& table) const;

 private:
  nn::Linear qkv_, proj_;
  std::int64_t heads_ = 1;
};

class CrossAttention {
 public:
  CrossAttention() = default;
  CrossAttention(const nn::WeightReader& weights, const BlockShape& shape);
  // x asks, y answers; one of equal batch, or of one for all of the other's.
  at::Tensor operator()(const at::Tensor& x, const RotaryTable& x_table, const at::Tensor& y,
                        const RotaryTable& y_table) const;

 private:
  nn::Linear q_, kv_, proj_;
  std::int64_t heads_ = 1;
};

class EncoderBlock {
 public:
  EncoderBlock(const nn::WeightReader& weights, const BlockShape& shape);
  at::Tensor operator()(const at::Tensor& x, const RotaryTable& table) const;

 private:
  nn::LayerNorm norm1_, norm2_;
  SelfAttention attention_;
  nn::Mlp mlp_;
};

class DecoderBlock {
 public:
  DecoderBlock(const nn::WeightReader& weights, const BlockShape& shape);
  // Batches as in CrossAttention; the result has the larger one.
  at::Tensor operator()(const at::Tensor& x, const RotaryTable& x_table, const at::Tensor& y,
                        const RotaryTable& y_table) const;

 private:
  nn::LayerNorm norm1_, norm2_, norm3_, norm_y_;
  SelfAttention self_;
  CrossAttention cross_;
  nn::Mlp mlp_;
};

inline constexpr double kNormEpsilon = 1e-6;

}  // namespace skyfix::mast3r
