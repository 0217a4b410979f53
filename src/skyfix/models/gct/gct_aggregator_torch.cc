#include "skyfix/models/gct/gct_aggregator_torch.h"

#include <algorithm>
#include <string>

namespace skyfix::gct {
namespace {

// [1, 2, tokens, C] as [2, tokens, C], fp32.
at::Tensor read_token(const nn::WeightReader& weights, std::string_view name, std::int64_t tokens,
                      std::int64_t width) {
  return weights.get_fp32(name, {1, 2, tokens, width}).squeeze(0);
}

// Variant 0 for the first frames, variant 1 for the others: [frames, tokens, C].
at::Tensor variants(const at::Tensor& token, std::int64_t first_frames, std::int64_t frames) {
  const std::int64_t first = std::clamp<std::int64_t>(first_frames, 0, frames);
  return at::cat({token.narrow(0, 0, 1).expand({first, -1, -1}),
                  token.narrow(0, 1, 1).expand({frames - first, -1, -1})});
}

}  // namespace

Aggregator::Aggregator(const nn::WeightReader& weights, const GctConfig& config)
    : config_(config),
      camera_token_(read_token(weights, "camera_token", 1, config.width)),
      register_token_(read_token(weights, "register_token", config.register_tokens, config.width)),
      scale_token_(read_token(weights, "scale_token", 1, config.width)) {
  const BlockShape shape{.width = config.width,
                         .hidden = config.mlp_ratio * config.width,
                         .heads = config.heads,
                         .head_norms = true};
  for (int pair = 0; pair < config.pairs; ++pair) {
    const std::string n = std::to_string(pair);
    frame_blocks_.emplace_back(weights.under("frame_blocks." + n), shape);
    global_blocks_.emplace_back(weights.under("global_blocks." + n), shape);
  }
}

at::Tensor Aggregator::with_special_tokens(const at::Tensor& patches, const GctCall& call) const {
  const std::int64_t frames = patches.size(0);
  const std::int64_t first = 1 - call.kept_before, scale = call.scale_frames - call.kept_before;
  return at::cat({variants(camera_token_, first, frames), variants(register_token_, first, frames),
                  variants(scale_token_, scale, frames), patches},
                 1);
}

std::array<at::Tensor, 4> Aggregator::operator()(const at::Tensor& tokens, std::int64_t rows,
                                                 std::int64_t columns, const GctCall& call,
                                                 GctMemory& memory,
                                                 const GctNetwork::OnStage& on_stage,
                                                 const GctNetwork::OnPair& each_pair) const {
  const at::Device device = tokens.device();
  const auto codes = codes_.get(rows, columns, [&] {
    return GridCodes{frame_rotation(config_, rows, columns, device),
                     spatial_code(config_, rows, columns, device)};
  });
  const std::int64_t frames = tokens.size(0);
  const Rotation over_frames =
      global_rotation(config_, time_indices(call.kept_before, frames, device), codes->spatial);
  std::array<at::Tensor, 4> taps;
  at::Tensor x = tokens;
  for (int pair = 0; pair < config_.pairs; ++pair) {
    if (on_stage) on_stage(GctStage::frame_block);
    const at::Tensor in_frame = frame_blocks_[pair](x, &codes->frame, attend_within);
    if (on_stage) on_stage(GctStage::global_block);
    const auto attend = [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
      return memory.attend(pair, q, k, v);
    };
    x = global_blocks_[pair](in_frame.view({1, -1, config_.width}), &over_frames, attend)
            .view_as(in_frame);
    if (each_pair) each_pair(pair, in_frame, x);
    const auto tap = std::find(config_.taps.begin(), config_.taps.end(), pair);
    if (tap != config_.taps.end()) taps[tap - config_.taps.begin()] = at::cat({in_frame, x}, -1);
  }
  return taps;
}

}  // namespace skyfix::gct
