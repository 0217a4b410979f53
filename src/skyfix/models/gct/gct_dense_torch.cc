#include "skyfix/models/gct/gct_dense_torch.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace skyfix::gct {
namespace {

constexpr double kEpsilon = 1e-5, kPositionBase = 100, kPositionShare = 0.1;

// Sines, then cosines, of a line of `count` pixels that spans -extent..extent with its edges:
// [channels / 2, count].
at::Tensor line_code(std::int64_t channels, std::int64_t count, double extent) {
  const double end = extent * double(count - 1) / double(count);
  const at::Tensor places = at::linspace(-end, end, count, at::kFloat).to(at::kDouble);
  const at::Tensor steps = at::arange(channels / 4, at::kDouble) / (double(channels) / 4);
  const at::Tensor angles = at::pow(kPositionBase, steps.neg()).unsqueeze(1) * places;
  return at::cat({angles.sin(), angles.cos()}).to(at::kFloat) * kPositionShare;
}

}  // namespace

void PositionMap::add_to(at::Tensor& map) const {
  const std::int64_t half = columns.size(0);
  map.narrow(1, 0, half).add_(columns);
  map.narrow(1, half, half).add_(rows);
}

PositionMap position_map(std::int64_t channels, std::int64_t height, std::int64_t width,
                         double aspect, const at::TensorOptions& options) {
  const double diagonal = std::sqrt(aspect * aspect + 1);
  return {line_code(channels, width, aspect / diagonal).unsqueeze(1).to(options),
          line_code(channels, height, 1 / diagonal).unsqueeze(2).to(options)};
}

DenseHead::DenseHead(const nn::WeightReader& head, const GctConfig& config, Values values)
    : values_(values),
      special_(config.special_tokens()),
      patch_(config.patch_px),
      norm_(head.in(Precision::fp32), "norm", config.camera_width(), kEpsilon) {
  std::array<std::int64_t, 4> widths{};
  for (int i = 0; i < 4; ++i) {
    widths[i] = config.dense_channels[i];
    projections_[i] =
        nn::Convolution(head, "projects." + std::to_string(i),
                        {.in = config.camera_width(), .out = widths[i], .kernel = 1, .padding = 0});
  }
  pyramid_ =
      nn::DptPyramid(head, {"resize_layers.0", "resize_layers.1", "resize_layers.3"}, widths);
  const nn::WeightReader scratch = head.under("scratch");
  fusion_ = nn::DptFusion(scratch, {.widths = widths,
                                    .width = config.dense_features,
                                    .rectified_skip = true,
                                    .double_and_crop = false});
  const auto [middle, last] = config.dense_final;
  const std::int64_t outputs = values == Values::depth ? 2 : 4;
  output1_ = nn::Convolution(scratch, "output_conv1", {.in = config.dense_features, .out = middle});
  output2_ = nn::Convolution(scratch, "output_conv2.0", {.in = middle, .out = last});
  output3_ = nn::Convolution(scratch, "output_conv2.2",
                             {.in = last, .out = outputs, .kernel = 1, .padding = 0});
}

DenseHead::Maps DenseHead::make_maps(std::int64_t rows, std::int64_t columns) const {
  const double aspect = double(columns) / double(rows);
  const at::TensorOptions options = output1_.weight.options();
  Maps maps;
  for (int i = 0; i < 4; ++i) {
    maps.levels[i] = position_map(projections_[i].weight.size(0), rows, columns, aspect, options);
  }
  maps.full =
      position_map(output1_.weight.size(0), rows * patch_, columns * patch_, aspect, options);
  return maps;
}

at::Tensor DenseHead::level(int level, const at::Tensor& tap, std::int64_t rows,
                            std::int64_t columns, const PositionMap& position,
                            const OnStep& on_step) const {
  const std::string n = std::to_string(level);
  const at::Tensor tokens = norm_(tap.slice(1, special_));
  const at::Tensor map =
      tokens.to(output1_.weight.scalar_type()).transpose(1, 2).unflatten(2, {rows, columns});
  at::Tensor projected = projections_[level](map);
  if (on_step) {
    on_step("norm.call" + n, tokens);
    on_step("project." + n, projected);
  }
  position.add_to(projected);
  const at::Tensor resized = pyramid_(projected, level);
  if (on_step) on_step("resize." + n, resized);
  return resized;
}

at::Tensor DenseHead::logits(const std::array<at::Tensor, 4>& taps, std::int64_t rows,
                             std::int64_t columns, const OnStep& on_step) const {
  const auto maps = maps_.get(rows, columns, [&] { return make_maps(rows, columns); });
  std::array<at::Tensor, 4> pyramid;
  for (int i = 0; i < 4; ++i) {
    pyramid[i] = level(i, taps[i], rows, columns, maps->levels[i], on_step);
  }
  const at::Tensor fused = output1_(fusion_(pyramid, on_step));
  if (on_step) on_step("output_conv1", fused);
  at::Tensor full = nn::resize_corners(fused, rows * patch_, columns * patch_);
  maps->full.add_to(full);
  const at::Tensor found = output3_(at::relu(output2_(full)));
  if (on_step) on_step("logits", found);
  return found;
}

std::pair<at::Tensor, at::Tensor> DenseHead::activated(const at::Tensor& logits) const {
  const at::Tensor last = logits.to(at::kFloat).permute({0, 2, 3, 1}).contiguous();
  const std::int64_t outputs = last.size(-1) - 1;
  const at::Tensor raw = last.narrow(-1, 0, outputs);
  const at::Tensor values = values_ == Values::depth ? raw.exp() : raw.sign() * raw.abs().expm1();
  return {values, 1 + last.select(-1, outputs).exp()};
}

std::pair<at::Tensor, at::Tensor> DenseHead::operator()(const std::array<at::Tensor, 4>& taps,
                                                        std::int64_t rows, std::int64_t columns,
                                                        std::int64_t at_once) const {
  const std::int64_t frames = taps[0].size(0);
  if (frames <= at_once) return activated(logits(taps, rows, columns));
  std::vector<at::Tensor> values, confidences;
  for (std::int64_t first = 0; first < frames; first += at_once) {
    std::array<at::Tensor, 4> some;
    for (int i = 0; i < 4; ++i) {
      some[i] = taps[i].narrow(0, first, std::min(at_once, frames - first));
    }
    auto [value, confidence] = activated(logits(some, rows, columns));
    values.push_back(std::move(value));
    confidences.push_back(std::move(confidence));
  }
  return {at::cat(values), at::cat(confidences)};
}

}  // namespace skyfix::gct
