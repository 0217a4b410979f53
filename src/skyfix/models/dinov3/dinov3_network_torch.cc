#include "skyfix/models/dinov3/dinov3_network_torch.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/nn/picture_torch.h"

namespace skyfix {
namespace {

constexpr int kThirds = 3;  // of the qkv product: queries, keys, values

std::int64_t third_of(DinoV3Facet facet) {
  switch (facet) {
    case DinoV3Facet::query:
      return 0;
    case DinoV3Facet::key:
      return 1;
    default:
      return 2;
  }
}

// Centres of `count` cells over -1..1.
at::Tensor cell_centres(std::int64_t count, const at::Tensor& like) {
  return at::arange(count, like.options()).add_(0.5).mul_(2.0 / double(count)).sub_(1.0);
}

}  // namespace

at::Tensor DinoV3Network::FeedForward::operator()(const at::Tensor& x) const {
  if (!gate.weight.defined()) return out(at::gelu(in(x)));
  return out(at::silu(in(x)).mul_(gate(x)));
}

DinoV3Network::DinoV3Network(const nn::WeightReader& weights, const DinoV3Names& names,
                             const DinoV3Config& config)
    : config_(config),
      class_token_(weights.get(names("cls_token"), {1, 1, config.width})),
      embedding_(weights, names("patch_embed.proj"), config.width, config.patch_px),
      norm_(weights, "norm", config.width, config.norm_epsilon) {
  if (config.storage_tokens > 0) {
    storage_tokens_ =
        weights.get(names("storage_tokens"), {1, config.storage_tokens, config.width});
  }
  read_periods(weights);
  for (int n = 0; n < config.blocks; ++n) blocks_.push_back(read_block(weights, names, n));
  if (weights.has("cls_norm.weight")) {
    special_norm_ = nn::LayerNorm(weights, "cls_norm", config.width, config.norm_epsilon);
  }
  weights.skip(names("mask_token"));  // both are for training alone
  weights.skip_under("local_cls_norm.");
}

void DinoV3Network::read_periods(const nn::WeightReader& weights) {
  const std::int64_t count = config_.head_size() / 4;
  periods_ = weights.in(Precision::fp32).find("rope_embed.periods", {count});
  if (periods_.defined()) {
    if (weights.has("rope_embed.periods") && periods_.le(0).any().item<bool>()) {
      throw Error(Reason::bad_weights,
                  "rope_embed.periods of these weights must all be above zero: the file is damaged",
                  weights.source().description());
    }
    return;
  }
  std::vector<float> periods;
  for (std::int64_t j = 0; j < count; ++j) {
    periods.push_back(
        float(std::pow(config_.rope_base, 2.0 * double(j) / (config_.head_size() / 2.0))));
  }
  periods_ = at::tensor(periods).to(nn::torch_device(weights.placement().device));
}

nn::Linear DinoV3Network::read_qkv(const nn::WeightReader& weights, const DinoV3Names& names,
                                   const std::string& attention) const {
  const std::int64_t width = config_.width;
  nn::Linear qkv;
  if (names.layout() == DinoV3Names::Layout::official) {
    qkv = nn::Linear(weights, attention + ".qkv", width, kThirds * width, config_.qkv_bias);
    // The reference multiplies by a mask that is 0 for the keys and 1 elsewhere, and that files do
    // not reliably hold.
    weights.skip(attention + ".qkv.bias_mask");
    if (qkv.bias.defined()) qkv.bias.narrow(0, width, width).zero_();
    return qkv;
  }
  const nn::Linear q(weights, names(attention + ".q"), width, width, config_.qkv_bias);
  const nn::Linear k(weights, names(attention + ".k"), width, width, false);
  const nn::Linear v(weights, names(attention + ".v"), width, width, config_.qkv_bias);
  qkv.weight = at::cat({q.weight, k.weight, v.weight});
  if (config_.qkv_bias) qkv.bias = at::cat({q.bias, at::zeros_like(q.bias), v.bias});
  return qkv;
}

DinoV3Network::FeedForward DinoV3Network::read_feed_forward(const nn::WeightReader& weights,
                                                            const DinoV3Names& names,
                                                            const std::string& mlp) const {
  const std::int64_t width = config_.width, hidden = config_.hidden;
  FeedForward made;
  made.in = nn::Linear(weights, names(mlp + (config_.gated ? ".w1" : ".fc1")), width, hidden);
  if (config_.gated) made.gate = nn::Linear(weights, names(mlp + ".w2"), width, hidden);
  made.out = nn::Linear(weights, names(mlp + (config_.gated ? ".w3" : ".fc2")), hidden, width);
  return made;
}

DinoV3Network::Block DinoV3Network::read_block(const nn::WeightReader& weights,
                                               const DinoV3Names& names, int n) const {
  const std::string prefix = "blocks." + std::to_string(n);
  const std::int64_t width = config_.width;
  Block block;
  block.norm1 = nn::LayerNorm(weights, names(prefix + ".norm1"), width, config_.norm_epsilon);
  block.norm2 = nn::LayerNorm(weights, names(prefix + ".norm2"), width, config_.norm_epsilon);
  block.qkv = read_qkv(weights, names, prefix + ".attn");
  block.projection = nn::Linear(weights, names(prefix + ".attn.proj"), width, width);
  block.scale1 = weights.get(names(prefix + ".ls1.gamma"), {width});
  block.scale2 = weights.get(names(prefix + ".ls2.gamma"), {width});
  block.feed_forward = read_feed_forward(weights, names, prefix + ".mlp");
  return block;
}

at::Tensor DinoV3Network::embed(const at::Tensor& image) const {
  const at::Tensor patches = embedding_(image.to(embedding_.weight.scalar_type()));
  const std::int64_t pictures = patches.size(0);
  std::vector<at::Tensor> parts{class_token_.expand({pictures, -1, -1})};
  if (storage_tokens_.defined()) parts.push_back(storage_tokens_.expand({pictures, -1, -1}));
  parts.push_back(patches);
  return at::cat(parts, 1);
}

DinoV3Network::Rotary DinoV3Network::rotary(std::int64_t rows, std::int64_t columns) const {
  const at::Tensor turns = (2 * std::numbers::pi / periods_).unsqueeze(0);  // [1, d/4]
  const at::Tensor y = cell_centres(rows, periods_).unsqueeze(1) * turns;
  const at::Tensor x = cell_centres(columns, periods_).unsqueeze(1) * turns;
  const at::Tensor patches =
      at::cat({y.unsqueeze(1).expand({-1, columns, -1}), x.unsqueeze(0).expand({rows, -1, -1})}, 2)
          .flatten(0, 1);  // [rows * columns, d/2]
  // An angle of zero leaves the tokens before the patches as they are.
  const at::Tensor special =
      at::zeros({config_.special_tokens(), patches.size(1)}, patches.options());
  const at::Tensor angles = at::cat({special, patches}).repeat({1, 2});
  return {angles.sin(), angles.cos()};
}

at::Tensor DinoV3Network::attend(const Block& block, const at::Tensor& x,
                                 const Rotary& rotary) const {
  const std::int64_t head_size = config_.head_size();
  at::Tensor rows = block.qkv(x);
  nn::rotate_heads(rows, {.heads = 2 * config_.heads, .size = head_size}, rotary);
  // [3, B, heads, T, d]
  const at::Tensor qkv =
      rows.unflatten(-1, {kThirds, config_.heads, head_size}).permute({2, 0, 3, 1, 4});
  const at::Tensor seen = nn::attention(qkv[0], qkv[1], qkv[2], 1 / std::sqrt(double(head_size)));
  return block.projection(nn::join_heads(seen));
}

at::Tensor DinoV3Network::block(std::size_t n, const at::Tensor& tokens,
                                const Rotary& rotary) const {
  const Block& block = blocks_.at(n);
  const at::Tensor x =
      at::addcmul(tokens, block.scale1, attend(block, block.norm1(tokens), rotary));
  return at::addcmul(x, block.scale2, block.feed_forward(block.norm2(x)));
}

at::Tensor DinoV3Network::facet(std::size_t n, const at::Tensor& tokens, DinoV3Facet facet) const {
  const Block& block = blocks_.at(n);
  const std::int64_t width = config_.width, first = third_of(facet) * width;
  nn::Linear third;
  third.weight = block.qkv.weight.narrow(0, first, width);
  if (block.qkv.bias.defined()) third.bias = block.qkv.bias.narrow(0, first, width);
  return third(block.norm1(tokens));
}

at::Tensor DinoV3Network::normalise(const at::Tensor& tokens) const {
  if (!special_norm_.weight.defined()) return norm_(tokens);
  const std::int64_t special = config_.special_tokens();
  return at::cat({special_norm_(tokens.narrow(1, 0, special)),
                  norm_(tokens.narrow(1, special, tokens.size(1) - special))},
                 1);
}

at::Tensor DinoV3Network::patches(const at::Tensor& image, std::size_t layer,
                                  DinoV3Facet facet_wanted) const {
  const Rotary angles = rotary(image.size(2) / config_.patch_px, image.size(3) / config_.patch_px);
  at::Tensor tokens = embed(image);
  for (std::size_t n = 0; n < layer; ++n) tokens = block(n, tokens, angles);
  if (facet_wanted == DinoV3Facet::token) {
    tokens = normalise(block(layer, tokens, angles));
  } else {
    tokens = facet(layer, tokens, facet_wanted);
  }
  const std::int64_t special = config_.special_tokens();
  return tokens.narrow(1, special, tokens.size(1) - special);
}

}  // namespace skyfix
