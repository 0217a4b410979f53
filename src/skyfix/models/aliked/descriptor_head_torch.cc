#include "skyfix/models/aliked/descriptor_head_torch.h"

#include <algorithm>
#include <vector>

#include "skyfix/models/sampling_torch.h"

namespace skyfix::aliked {
namespace {

// Keypoints described at once: bounds the features held (73 pixels a keypoint).
constexpr std::int64_t kChunk = 512;

nn::Linear as_linear(const nn::Convolution& convolution) {
  nn::Linear linear;
  linear.weight = convolution.weight.permute({0, 2, 3, 1}).flatten(1).contiguous();
  linear.bias = convolution.bias;
  return linear;
}

}  // namespace

DescriptorHead::DescriptorHead(const nn::WeightReader& weights, const Config& config)
    : config_(config) {
  const std::int64_t c = config.dimension, outs = 2 * config.samples;
  offset_first_ = as_linear({weights, "desc_head.offset_conv.0", {c, outs, 3, 1, 0}});
  offset_last_ = as_linear({weights, "desc_head.offset_conv.2", {outs, outs, 1, 1, 0}});
  mix_ = as_linear({weights, "desc_head.sf_conv", {c, c, 1, 1, 0}, /*with_bias=*/false});
  aggregation_ = weights.get("desc_head.agg_weights", {config.samples, c, c}).flatten(0, 1);
}

at::Tensor DescriptorHead::offsets(const PixelReader& read, const at::Tensor& places,
                                   std::int64_t height, std::int64_t width) const {
  const std::int64_t n = places.size(0);
  // One pixel more than needed is left at the right and lower border, as in the reference.
  const auto corner = [](const at::Tensor& place, std::int64_t size) {
    return (place.trunc().to(at::kLong) - 1).clamp(0, size - 4).unsqueeze(1);
  };
  const at::Tensor steps = at::arange(3, places.options().dtype(at::kLong));
  const at::Tensor x = corner(places.select(1, 0), width) + steps.repeat({3});
  const at::Tensor y = corner(places.select(1, 1), height) + steps.repeat_interleave(3);
  const at::Tensor patches = read(x.flatten(), y.flatten()).view({n, 9 * config_.dimension});
  const at::Tensor found =
      offset_last_(at::selu(offset_first_(patches.to(aggregation_.scalar_type()))));
  const double most = double(std::max(height, width)) / 4;
  return found.to(at::kFloat).clamp(-most, most).view({n, 2, -1}).transpose(1, 2);
}

at::Tensor DescriptorHead::describe_chunk(const PixelReader& read, const at::Tensor& places,
                                          std::int64_t height, std::int64_t width) const {
  const at::Tensor samples =
      (places.unsqueeze(1) + offsets(read, places, height, width)).flatten(0, 1);
  const at::Tensor base = samples.floor(), part = samples - base;
  // The four pixels around a sample: x, y, weight [n * samples, 4]; those outside count as zeros.
  const at::Tensor step_x = at::tensor({0.0F, 1.0F, 0.0F, 1.0F}).to(places.device());
  const at::Tensor step_y = at::tensor({0.0F, 0.0F, 1.0F, 1.0F}).to(places.device());
  const auto along = [&](int axis, const at::Tensor& step, std::int64_t size) {
    const at::Tensor pixel = base.select(1, axis).unsqueeze(1) + step;
    const at::Tensor t = part.select(1, axis).unsqueeze(1);
    const at::Tensor inside = (pixel >= 0).logical_and_(pixel < size);
    return std::pair{pixel.clamp(0, size - 1).to(at::kLong),
                     (step * t + (1 - step) * (1 - t)) * inside};
  };
  const auto [x, weight_x] = along(0, step_x, width);
  const auto [y, weight_y] = along(1, step_y, height);
  const at::Tensor around =
      read(x.flatten(), y.flatten()).view({samples.size(0), 4, config_.dimension});
  const at::Tensor sampled = at::bmm((weight_x * weight_y).unsqueeze(1), around).squeeze(1);
  const at::Tensor mixed = at::selu(mix_(sampled.to(aggregation_.scalar_type())));
  const at::Tensor rows = mixed.view({places.size(0), config_.samples * config_.dimension});
  return models::unit_rows(at::mm(rows, aggregation_).to(at::kFloat));
}

at::Tensor DescriptorHead::operator()(const PixelReader& read, const at::Tensor& places,
                                      std::int64_t height, std::int64_t width) const {
  at::Tensor rows = at::empty({places.size(0), config_.dimension}, places.options());
  for (std::int64_t first = 0; first < places.size(0); first += kChunk) {
    const std::int64_t n = std::min(kChunk, places.size(0) - first);
    rows.narrow(0, first, n).copy_(describe_chunk(read, places.narrow(0, first, n), height, width));
  }
  return rows;
}

}  // namespace skyfix::aliked
