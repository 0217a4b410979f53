#include "skyfix/nn/layers_torch.h"

#include <string>

namespace skyfix::nn {
namespace {

std::string dot(std::string_view name, std::string_view last) {
  return std::string(name) + "." + std::string(last);
}

}  // namespace

Linear::Linear(const WeightReader& weights, std::string_view name, std::int64_t in,
               std::int64_t out, bool with_bias)
    : weight(weights.get(dot(name, "weight"), {out, in})) {
  if (with_bias) bias = weights.get(dot(name, "bias"), {out});
}

at::Tensor Linear::operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }

LayerNorm::LayerNorm(const WeightReader& weights, std::string_view name, std::int64_t width,
                     double epsilon)
    : weight(weights.get(dot(name, "weight"), {width})),
      bias(weights.get(dot(name, "bias"), {width})),
      eps(epsilon) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, weight.sizes(), weight, bias, eps);
}

Convolution::Convolution(const WeightReader& weights, std::string_view name, const Shape& shape,
                         bool with_bias)
    : weight(weights.get(dot(name, "weight"), {shape.out, shape.in, shape.kernel, shape.kernel})),
      stride(shape.stride),
      padding(shape.padding) {
  if (with_bias) bias = weights.get(dot(name, "bias"), {shape.out});
}

at::Tensor Convolution::operator()(const at::Tensor& x) const {
  return at::conv2d(x, weight, bias, stride, padding);
}

void Convolution::expect_channels_last() {
  if (weight.is_cuda() && weight.scalar_type() != at::kFloat) {
    weight = weight.contiguous(at::MemoryFormat::ChannelsLast);
  }
}

TransposedConvolution::TransposedConvolution(const WeightReader& weights, std::string_view name,
                                             std::int64_t in, std::int64_t out, std::int64_t step)
    : weight(weights.get(dot(name, "weight"), {in, out, step, step})),
      bias(weights.get(dot(name, "bias"), {out})),
      stride(step) {}

at::Tensor TransposedConvolution::operator()(const at::Tensor& x) const {
  return at::conv_transpose2d(x, weight, bias, stride);
}

PatchEmbedding::PatchEmbedding(const WeightReader& weights, std::string_view name,
                               std::int64_t width, std::int64_t patch_px)
    : weight(weights.get(dot(name, "weight"), {width, 3, patch_px, patch_px})),
      bias(weights.get(dot(name, "bias"), {width})),
      patch(patch_px) {}

at::Tensor PatchEmbedding::operator()(const at::Tensor& image) const {
  return at::conv2d(image, weight, bias, patch).flatten(2).transpose(1, 2).contiguous();
}

Mlp::Mlp(const WeightReader& weights, std::string_view name, std::int64_t width,
         std::int64_t hidden)
    : fc1(weights, dot(name, "fc1"), width, hidden),
      fc2(weights, dot(name, "fc2"), hidden, width) {}

at::Tensor Mlp::operator()(const at::Tensor& x) const { return fc2(at::gelu(fc1(x))); }

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale) {
  return at::scaled_dot_product_attention(q, k, v, {}, 0.0, false, scale);
}

at::Tensor attention_reference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               double scale) {
  return at::matmul(at::softmax(at::matmul(q, k.transpose(-2, -1)) * scale, -1), v);
}

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads}).transpose(1, 2);
}

at::Tensor join_heads(const at::Tensor& x) { return x.transpose(1, 2).flatten(2); }

at::Tensor rotate_halves(const at::Tensor& x, const at::Tensor& sin, const at::Tensor& cos) {
  const at::Tensor value = x.to(at::kFloat);
  const auto halves = value.chunk(2, -1);
  const at::Tensor turned = at::cat({halves[1].neg(), halves[0]}, -1);
  return (value * cos + turned * sin).to(x.scalar_type());
}

at::Tensor rotate_neighbours(const at::Tensor& x, const at::Tensor& sin, const at::Tensor& cos) {
  const at::Tensor value = x.to(at::kFloat);
  const auto pair = value.unflatten(-1, {-1, 2}).unbind(-1);
  const at::Tensor turned = at::stack({pair[1].neg(), pair[0]}, -1).flatten(-2);
  return (value * cos + turned * sin).to(x.scalar_type());
}

}  // namespace skyfix::nn
