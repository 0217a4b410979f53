#include "skyfix/models/gct/gct_encoder_torch.h"

#include <optional>
#include <string>

namespace skyfix::gct {
namespace {

constexpr double kEpsilon = 1e-6;

at::Tensor per_channel(at::ArrayRef<float> values, at::Device device) {
  return at::tensor(values).view({3, 1, 1}).to(device);
}

}  // namespace

at::Tensor resized_positions(const at::Tensor& stored, std::int64_t grid, std::int64_t rows,
                             std::int64_t columns) {
  if (rows == grid && columns == grid) return stored;
  const std::int64_t patches = grid * grid, width = stored.size(2);
  const at::Tensor map =
      stored.narrow(1, 1, patches).view({1, grid, grid, width}).permute({0, 3, 1, 2});
  const at::Tensor resized =
      at::_upsample_bicubic2d_aa(map.contiguous(), {rows, columns}, /*align_corners=*/false,
                                 std::nullopt, std::nullopt)
          .flatten(2)
          .transpose(1, 2);
  return at::cat({stored.narrow(1, 0, 1), resized}, 1);
}

Encoder::Encoder(const nn::WeightReader& weights, const GctConfig& config)
    : grid_(config.position_grid),
      registers_(config.register_tokens),
      embedding_(weights, "patch_embed.proj", config.width, config.patch_px) {
  const nn::WeightReader fp32 = weights.in(Precision::fp32);
  const std::int64_t width = config.width;
  class_token_ = fp32.get("cls_token", {1, 1, width});
  register_tokens_ = fp32.get("register_tokens", {1, registers_, width});
  positions_ = fp32.get("pos_embed", {1, 1 + grid_ * grid_, width});
  weights.skip("mask_token");  // of the training
  const BlockShape shape{.width = width,
                         .hidden = config.mlp_ratio * width,
                         .heads = config.encoder_heads,
                         .epsilon = kEpsilon};
  for (int n = 0; n < config.encoder_blocks; ++n) {
    blocks_.emplace_back(weights.under("blocks." + std::to_string(n)), shape);
  }
  norm_ = nn::LayerNorm(fp32, "norm", width, kEpsilon);
  const at::Device device = positions_.device();
  mean_ = per_channel({0.485F, 0.456F, 0.406F}, device);
  deviation_ = per_channel({0.229F, 0.224F, 0.225F}, device);
}

at::Tensor Encoder::patches(const at::Tensor& images) const {
  const at::Tensor normalised = (images - mean_) / deviation_;
  return embedding_(normalised.to(embedding_.weight.scalar_type())).to(at::kFloat);
}

at::Tensor Encoder::embed(const at::Tensor& images) const {
  const std::int64_t frames = images.size(0);
  const std::int64_t rows = images.size(2) / embedding_.patch,
                     columns = images.size(3) / embedding_.patch;
  const auto positions = resized_.get(
      rows, columns, [&] { return resized_positions(positions_, grid_, rows, columns); });
  const at::Tensor class_token = class_token_ + positions->narrow(1, 0, 1);
  return at::cat({class_token.expand({frames, -1, -1}), register_tokens_.expand({frames, -1, -1}),
                  patches(images) + positions->narrow(1, 1, rows * columns)},
                 1);
}

at::Tensor Encoder::block(std::size_t n, const at::Tensor& tokens) const {
  return blocks_.at(n)(tokens, nullptr, attend_within);
}

at::Tensor Encoder::normalise(const at::Tensor& tokens) const { return norm_(tokens); }

at::Tensor Encoder::operator()(const at::Tensor& images) const {
  at::Tensor tokens = embed(images);
  for (std::size_t n = 0; n < blocks_.size(); ++n) tokens = block(n, tokens);
  return normalise(tokens.slice(1, 1 + registers_));
}

}  // namespace skyfix::gct
