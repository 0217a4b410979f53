#include "skyfix/models/gct/gct_block_torch.h"

#include <cmath>

namespace skyfix::gct {
namespace {

constexpr double kHeadNormEpsilon = 1e-5;

void rotate(at::Tensor& rows, std::int64_t heads, std::int64_t size, const Rotation& rotation) {
  nn::rotate_heads(
      rows,
      {.heads = heads, .size = size, .parts = rotation.parts, .neighbours = rotation.neighbours},
      rotation.code);
}

}  // namespace

at::Tensor attend_within(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return nn::attention(q, k, v, 1 / std::sqrt(double(q.size(-1))));
}

at::Tensor narrowed(const nn::Linear& linear, const at::Tensor& x) {
  return linear(x.to(linear.weight.scalar_type()));
}

Block::Block(const nn::WeightReader& weights, const BlockShape& shape)
    : heads_(shape.heads),
      norm1_(weights.in(Precision::fp32), "norm1", shape.width, shape.epsilon),
      norm2_(weights.in(Precision::fp32), "norm2", shape.width, shape.epsilon),
      qkv_(weights, "attn.qkv", shape.width, 3 * shape.width),
      projection_(weights, "attn.proj", shape.width, shape.width),
      scale1_(weights.get_fp32("ls1.gamma", {shape.width})),
      scale2_(weights.get_fp32("ls2.gamma", {shape.width})),
      mlp_(weights, "mlp", shape.width, shape.hidden) {
  if (!shape.head_norms) return;
  const nn::WeightReader fp32 = weights.in(Precision::fp32);
  const std::int64_t size = shape.width / shape.heads;
  q_norm_ = nn::LayerNorm(fp32, "attn.q_norm", size, kHeadNormEpsilon);
  k_norm_ = nn::LayerNorm(fp32, "attn.k_norm", size, kHeadNormEpsilon);
}

// heads [B, T, heads, size]: normalised and turned in fp32, then rounded once.
at::Tensor Block::normalised_head(const at::Tensor& heads, const nn::LayerNorm& norm,
                                  const Rotation* rotation) const {
  at::Tensor rows = norm(heads.to(at::kFloat)).flatten(2);
  if (rotation != nullptr) rotate(rows, heads_, heads.size(-1), *rotation);
  return rows.to(heads.scalar_type()).unflatten(-1, {heads_, heads.size(-1)});
}

at::Tensor Block::attended(const at::Tensor& x, const Rotation* rotation,
                           const Attend& attend) const {
  const std::int64_t size = x.size(-1) / heads_;
  at::Tensor rows = qkv_(x);
  const bool norms = q_norm_.weight.defined();
  if (rotation != nullptr && !norms) rotate(rows, 2 * heads_, size, *rotation);
  const auto third = rows.unflatten(-1, {3, heads_, size}).unbind(2);  // [B, T, heads, size]
  const at::Tensor q = norms ? normalised_head(third[0], q_norm_, rotation) : third[0];
  const at::Tensor k = norms ? normalised_head(third[1], k_norm_, rotation) : third[1];
  const at::Tensor seen = attend(q.transpose(1, 2), k.transpose(1, 2), third[2].transpose(1, 2));
  return projection_(nn::join_heads(seen));
}

at::Tensor Block::operator()(const at::Tensor& x, const Rotation* rotation,
                             const Attend& attend) const {
  const at::ScalarType type = qkv_.weight.scalar_type();
  const at::Tensor seen = attended(norm1_(x).to(type), rotation, attend);
  const at::Tensor mixed = at::addcmul(x, scale1_, seen);
  return at::addcmul(mixed, scale2_, mlp_(norm2_(mixed).to(type)));
}

}  // namespace skyfix::gct
