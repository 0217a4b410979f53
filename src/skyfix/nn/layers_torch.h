// Layers that several networks share, each written once. Weights are read at construction (names as
// in PyTorch's state dicts: NAME.weight, NAME.bias); calling is const and thread-safe.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::nn {

// y = x W^T + b over the last dimension.
struct Linear {
  Linear() = default;
  Linear(const WeightReader& weights, std::string_view name, std::int64_t in, std::int64_t out,
         bool with_bias = true);
  at::Tensor operator()(const at::Tensor& x) const;
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out], undefined without
};

// Over the last dimension, with weight and bias.
struct LayerNorm {
  LayerNorm() = default;
  LayerNorm(const WeightReader& weights, std::string_view name, std::int64_t width, double eps);
  at::Tensor operator()(const at::Tensor& x) const;
  at::Tensor weight, bias;  // [width]
  double eps = 1e-6;
};

struct Convolution {
  Convolution() = default;
  struct Shape {
    std::int64_t in = 0, out = 0, kernel = 3, stride = 1, padding = 1;
  };
  Convolution(const WeightReader& weights, std::string_view name, const Shape& shape,
              bool with_bias = true);
  at::Tensor operator()(const at::Tensor& x) const;  // [B,in,H,W]
  // Keeps the weights as half-precision kernels of a GPU want them for inputs whose channels lie
  // beside each other; else they are laid out anew at each call. Values stay.
  void expect_channels_last();
  at::Tensor weight;  // [out, in, kernel, kernel]
  at::Tensor bias;
  std::int64_t stride = 1, padding = 1;
};

// Kernel = stride, no padding: each input pixel becomes a block.
struct TransposedConvolution {
  TransposedConvolution() = default;
  TransposedConvolution(const WeightReader& weights, std::string_view name, std::int64_t in,
                        std::int64_t out, std::int64_t stride);
  at::Tensor operator()(const at::Tensor& x) const;
  at::Tensor weight;  // [in, out, stride, stride]
  at::Tensor bias;
  std::int64_t stride = 1;
};

// A stack of patches: convolution of kernel = stride = patch, then row-major tokens [B, h*w,
// width].
struct PatchEmbedding {
  PatchEmbedding() = default;
  PatchEmbedding(const WeightReader& weights, std::string_view name, std::int64_t width,
                 std::int64_t patch);
  // Rows and columns that do not fill a patch are left out.
  at::Tensor operator()(const at::Tensor& image) const;  // [B,3,H,W]
  at::Tensor weight, bias;
  std::int64_t patch = 16;
};

// fc1, GELU (exact), fc2.
struct Mlp {
  Mlp() = default;
  Mlp(const WeightReader& weights, std::string_view name, std::int64_t width, std::int64_t hidden);
  at::Tensor operator()(const at::Tensor& x) const;
  Linear fc1, fc2;
};

// softmax(q k^T * scale) v over [B, heads, tokens, head size]; fused where the device has a kernel.
// Twin: attention_reference, explicit in the same precision.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale);
at::Tensor attention_reference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               double scale);

// [B, tokens, heads * size] -> [B, heads, tokens, size] and back.
at::Tensor split_heads(const at::Tensor& x, std::int64_t heads);
at::Tensor join_heads(const at::Tensor& x);

// Rotary code by halves: out = in * cos + (-b, a) * sin for in = (a, b). `sin` and `cos` are
// [tokens, head size] in fp32; x is [B, heads, tokens, head size] of any precision and is turned in
// fp32.
at::Tensor rotate_halves(const at::Tensor& x, const at::Tensor& sin, const at::Tensor& cos);
// The same for pairs of neighbouring entries (a, b): both have one angle.
at::Tensor rotate_neighbours(const at::Tensor& x, const at::Tensor& sin, const at::Tensor& cos);

}  // namespace skyfix::nn
