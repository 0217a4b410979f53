#include "skyfix/models/lightglue/lightglue_net_torch.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace skyfix::lightglue {
namespace {

constexpr double kNormEps = 1e-5;

// "transformers.3.self_attn", or "self_attn.3" in older files.
nn::WeightReader block_of(const nn::WeightReader& weights, const std::string& kind, int layer,
                          bool older) {
  const std::string number = std::to_string(layer);
  return weights.under(older ? kind + "." + number : "transformers." + number + "." + kind);
}

// [heads][channel][3] of the first dimension to [3][heads][channel], with q's and k's even channels
// first.
at::Tensor reorder_qkv(const at::Tensor& rows, std::int64_t heads) {
  const std::int64_t size = rows.size(0) / (3 * heads);
  const at::Tensor by_kind =
      rows.unflatten(0, {heads, size, 3}).movedim(2, 0);  // [3, heads, size, ...]
  const at::Tensor turned =
      by_kind.narrow(0, 0, 2).unflatten(2, {size / 2, 2}).transpose(2, 3).flatten(2, 3);
  return at::cat({turned, by_kind.narrow(0, 2, 1)}).flatten(0, 2).contiguous();
}

at::Tensor as_vector(const nn::Linear& linear, const at::Tensor& state) {
  return linear(state.to(at::kFloat)).flatten();
}

}  // namespace

void Side::keep(const at::Tensor& mask) {
  const at::Tensor left = at::nonzero(mask).squeeze(1);
  state = state.index_select(1, left);
  sin = sin.index_select(0, left);
  cos = cos.index_select(0, left);
  rows = rows.index_select(0, left);
}

Update::Update(const nn::WeightReader& weights, std::int64_t width)
    : first_(weights, "ffn.0", 2 * width, 2 * width),
      norm_(weights, "ffn.1", 2 * width, kNormEps),
      second_(weights, "ffn.3", 2 * width, width) {}

at::Tensor Update::operator()(const at::Tensor& state, const at::Tensor& message) const {
  const at::Tensor both = at::cat({state, message}, -1);
  return second_(at::gelu(norm_(first_(both)))).add_(state);
}

SelfAttention::SelfAttention(const nn::WeightReader& weights, std::int64_t width,
                             std::int64_t heads)
    : heads_(heads),
      qkv_(weights, "Wqkv", width, 3 * width),
      out_(weights, "out_proj", width, width),
      update_(weights, width) {
  qkv_.weight = reorder_qkv(qkv_.weight, heads);
  qkv_.bias = reorder_qkv(qkv_.bias, heads);
}

at::Tensor SelfAttention::operator()(const Side& side) const {
  const at::Tensor qkv = nn::split_heads(qkv_(side.state), 3 * heads_);  // [1, 3 heads, n, size]
  const at::Tensor qk = nn::rotate_halves(qkv.narrow(1, 0, 2 * heads_), side.sin, side.cos);
  const at::Tensor attended =
      nn::attention(qk.narrow(1, 0, heads_), qk.narrow(1, heads_, heads_),
                    qkv.narrow(1, 2 * heads_, heads_), 1 / std::sqrt(double(qkv.size(3))));
  return update_(side.state, out_(nn::join_heads(attended)));
}

CrossAttention::CrossAttention(const nn::WeightReader& weights, std::int64_t width,
                               std::int64_t heads)
    : heads_(heads),
      qk_(weights, "to_qk", width, width),
      v_(weights, "to_v", width, width),
      out_(weights, "to_out", width, width),
      update_(weights, width) {}

at::Tensor CrossAttention::message(const at::Tensor& q, const at::Tensor& k,
                                   const at::Tensor& v) const {
  return out_(nn::join_heads(nn::attention(q, k, v, 1 / std::sqrt(double(q.size(3))))));
}

void CrossAttention::operator()(Side& first, Side& second) const {
  const at::Tensor qk0 = nn::split_heads(qk_(first.state), heads_);
  const at::Tensor qk1 = nn::split_heads(qk_(second.state), heads_);
  const at::Tensor v0 = nn::split_heads(v_(first.state), heads_);
  const at::Tensor v1 = nn::split_heads(v_(second.state), heads_);
  first.state = update_(first.state, message(qk0, qk1, v1));
  second.state = update_(second.state, message(qk1, qk0, v0));
}

Net::Net(const nn::WeightReader& weights, const LightGlueConfig& config)
    : input_(weights, "input_proj", config.input, config.width),
      frequencies_(weights.get_fp32("posenc.Wr.weight", {config.width / config.heads / 2, 2})),
      projection_scale_(std::pow(double(config.width), -0.25)) {
  assert(config.layers > 0 && config.width % (2 * config.heads) == 0);
  const bool older = weights.has("self_attn.0.Wqkv.weight");
  const nn::WeightReader exact = weights.in(Precision::fp32);
  for (int i = 0; i < config.layers; ++i) {
    self_.emplace_back(block_of(weights, "self_attn", i, older), config.width, config.heads);
    cross_.emplace_back(block_of(weights, "cross_attn", i, older), config.width, config.heads);
    const std::string ends = "log_assignment." + std::to_string(i);
    ends_.push_back({{exact, ends + ".matchability", config.width, 1},
                     {exact, ends + ".final_proj", config.width, config.width}});
    if (i + 1 == config.layers) break;
    confidence_.emplace_back(exact, "token_confidence." + std::to_string(i) + ".token.0",
                             config.width, 1);
  }
}

Side Net::side(const at::Tensor& xy, const at::Tensor& descriptors, int width_px,
               int height_px) const {
  assert(width_px > 0 && height_px > 0);
  const at::Tensor centre =
      at::tensor({width_px / 2.0F, height_px / 2.0F}).to(xy.device(), /*non_blocking=*/true);
  const at::Tensor place = (xy - centre) / (std::max(width_px, height_px) / 2.0);
  const at::Tensor angles = at::matmul(place, frequencies_.t()).repeat({1, 2});
  const at::Tensor rows = at::arange(xy.size(0), xy.options().dtype(at::kLong));
  return {input_(descriptors.to(input_.weight.scalar_type())).unsqueeze(0), angles.sin(),
          angles.cos(), rows};
}

at::Tensor Net::confidence(int layer, const at::Tensor& state) const {
  return as_vector(confidence_[layer], state).sigmoid();
}

at::Tensor Net::matchability(int layer, const at::Tensor& state) const {
  return as_vector(ends_[layer].matchability, state);
}

at::Tensor Net::log_assignment(int layer, const Side& first, const Side& second) const {
  const auto projected = [&](const Side& side) {
    return ends_[layer].projection(side.state.to(at::kFloat)).squeeze(0) * projection_scale_;
  };
  const auto partner = [&](const Side& side) {
    return at::log_sigmoid(matchability(layer, side.state));
  };
  const at::Tensor similarity = at::mm(projected(first), projected(second).t());
  return at::log_softmax(similarity, 1)
      .add_(at::log_softmax(similarity, 0))
      .add_(partner(first).unsqueeze(1))
      .add_(partner(second));
}

Assignment Net::assign(int layer, const Side& first, const Side& second) const {
  const at::Tensor logs = log_assignment(layer, first, second);
  const auto [highest, best_of_first] = logs.max(1);
  return {best_of_first, logs.argmax(0), highest.exp()};
}

int run_layers(const Net& net, const LightGlueConfig& config, Side& first, Side& second) {
  const std::int64_t given = first.size() + second.size();
  for (int i = 0; i < config.layers; ++i) {
    if (first.size() == 0 || second.size() == 0) return i;
    if (i > 0) {
      net.run_self(i, first);
      net.run_self(i, second);
    }
    net.run_cross(i, first, second);
    if (i + 1 == config.layers) break;
    const double threshold = 0.8 + 0.1 * std::exp(-config.threshold_decay * i);
    at::Tensor sure0, sure1;
    if (config.depth_confidence > 0) {
      sure0 = net.confidence(i, first.state);
      sure1 = net.confidence(i, second.state);
      const std::int64_t unsure =
          ((sure0 < threshold).sum() + (sure1 < threshold).sum()).item<std::int64_t>();
      if (1.0 - double(unsure) / double(given) > config.depth_confidence) return i + 1;
    }
    const auto prune = [&](Side& side, const at::Tensor& sure) {
      if (config.width_confidence <= 0 || side.size() <= config.prune_above) return;
      at::Tensor kept = net.matchability(i, side.state).sigmoid() > 1.0 - config.width_confidence;
      // A point that is not yet sure may still find its partner.
      if (sure.defined()) kept.logical_or_(sure <= threshold);
      side.keep(kept);
    };
    prune(first, sure0);
    prune(second, sure1);
  }
  return config.layers;
}

}  // namespace skyfix::lightglue
