#include "skyfix/models/mast3r/mast3r_layers_torch.h"

#include <algorithm>
#include <cmath>

namespace skyfix::mast3r {
namespace {

constexpr std::int64_t kAxes = 2;  // a head's halves: by row, by column

double attention_scale(const at::Tensor& q) { return 1 / std::sqrt(double(q.size(-1))); }

nn::LayerNorm read_norm(const nn::WeightReader& weights, std::string_view name,
                        const BlockShape& shape) {
  return nn::LayerNorm(weights, name, shape.width, kNormEpsilon);
}

// One for all of a batch, dense: not every attention kernel takes a batch without a stride.
at::Tensor repeated(const at::Tensor& x, std::int64_t batch) {
  return x.size(0) == batch ? x : x.expand({batch, -1, -1}).contiguous();
}

// Two linear layers of one input as one.
nn::Linear joined(const nn::Linear& first, const nn::Linear& second) {
  nn::Linear both;
  both.weight = at::cat({first.weight, second.weight}, 0);
  both.bias = at::cat({first.bias, second.bias}, 0);
  return both;
}

}  // namespace

RotaryTable make_rotary_table(std::int64_t rows, std::int64_t columns, std::int64_t head_size,
                              double base, at::Device device) {
  const std::int64_t half = head_size / 2;
  const auto angles = [&](std::int64_t count) {
    return nn::angles_by_halves(at::arange(count, at::dtype(at::kFloat)), half, base);
  };
  const at::Tensor y = angles(rows).unsqueeze(1).expand({rows, columns, half});
  const at::Tensor x = angles(columns).unsqueeze(0).expand({rows, columns, half});
  const at::Tensor both = at::stack({y, x}, 2).view({rows * columns, 2, half});
  return {both.sin().to(device), both.cos().to(device)};
}

RotaryTable RotaryTables::get(std::int64_t rows, std::int64_t columns,
                              std::int64_t head_size) const {
  const std::lock_guard lock(mutex_);
  RotaryTable& table = tables_[{rows, columns, head_size}];
  if (!table.sin.defined()) {
    table = make_rotary_table(rows, columns, head_size, base_, device_);
  }
  return table;
}

SelfAttention::SelfAttention(const nn::WeightReader& weights, const BlockShape& shape)
    : qkv_(weights, "qkv", shape.width, 3 * shape.width),
      proj_(weights, "proj", shape.width, shape.width),
      heads_(shape.heads) {}

at::Tensor SelfAttention::operator()(const at::Tensor& x, const RotaryTable& table) const {
  const std::int64_t size = x.size(-1) / heads_;
  at::Tensor rows = qkv_(x);
  nn::rotate_heads(rows, {.heads = 2 * heads_, .size = size, .parts = kAxes}, table);
  const at::Tensor qkv = rows.unflatten(-1, {3, heads_, size});
  const at::Tensor q = qkv.select(2, 0).transpose(1, 2);
  const at::Tensor k = qkv.select(2, 1).transpose(1, 2);
  const at::Tensor v = qkv.select(2, 2).transpose(1, 2);
  return proj_(nn::join_heads(nn::attention(q, k, v, attention_scale(q))));
}

CrossAttention::CrossAttention(const nn::WeightReader& weights, const BlockShape& shape)
    : q_(weights, "projq", shape.width, shape.width),
      kv_(joined(nn::Linear(weights, "projk", shape.width, shape.width),
                 nn::Linear(weights, "projv", shape.width, shape.width))),
      proj_(weights, "proj", shape.width, shape.width),
      heads_(shape.heads) {}

at::Tensor CrossAttention::operator()(const at::Tensor& x, const RotaryTable& x_table,
                                      const at::Tensor& y, const RotaryTable& y_table) const {
  const std::int64_t size = x.size(-1) / heads_;
  const nn::RotaryHeads turned{.heads = heads_, .size = size, .parts = kAxes};
  at::Tensor asking = q_(x), answering = kv_(y);
  nn::rotate_heads(asking, turned, x_table);
  nn::rotate_heads(answering, turned, y_table);
  const std::int64_t batch = std::max(x.size(0), y.size(0));
  const at::Tensor q = repeated(asking, batch).unflatten(-1, {heads_, size}).transpose(1, 2);
  const at::Tensor kv = repeated(answering, batch).unflatten(-1, {2, heads_, size});
  const at::Tensor k = kv.select(2, 0).transpose(1, 2);
  const at::Tensor v = kv.select(2, 1).transpose(1, 2);
  return proj_(nn::join_heads(nn::attention(q, k, v, attention_scale(q))));
}

EncoderBlock::EncoderBlock(const nn::WeightReader& weights, const BlockShape& shape)
    : norm1_(read_norm(weights, "norm1", shape)),
      norm2_(read_norm(weights, "norm2", shape)),
      attention_(weights.under("attn"), shape),
      mlp_(weights, "mlp", shape.width, shape.hidden) {}

at::Tensor EncoderBlock::operator()(const at::Tensor& x, const RotaryTable& table) const {
  const at::Tensor attended = x + attention_(norm1_(x), table);
  return attended + mlp_(norm2_(attended));
}

DecoderBlock::DecoderBlock(const nn::WeightReader& weights, const BlockShape& shape)
    : norm1_(read_norm(weights, "norm1", shape)),
      norm2_(read_norm(weights, "norm2", shape)),
      norm3_(read_norm(weights, "norm3", shape)),
      norm_y_(read_norm(weights, "norm_y", shape)),
      self_(weights.under("attn"), shape),
      cross_(weights.under("cross_attn"), shape),
      mlp_(weights, "mlp", shape.width, shape.hidden) {}

at::Tensor DecoderBlock::operator()(const at::Tensor& x, const RotaryTable& x_table,
                                    const at::Tensor& y, const RotaryTable& y_table) const {
  const at::Tensor seen = x + self_(norm1_(x), x_table);
  const at::Tensor asked = seen + cross_(norm2_(seen), x_table, norm_y_(y), y_table);
  return asked + mlp_(norm3_(asked));
}

}  // namespace skyfix::mast3r
