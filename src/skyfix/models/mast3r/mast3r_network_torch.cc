#include "skyfix/models/mast3r/mast3r_network_torch.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "skyfix/nn/picture_torch.h"

namespace skyfix::mast3r {
namespace {

std::vector<DecoderBlock> read_decoder(const nn::WeightReader& reader, const std::string& name,
                                       const Mast3rConfig& config) {
  const BlockShape shape{config.decoder_width, config.decoder_hidden, config.decoder_heads};
  std::vector<DecoderBlock> blocks;
  blocks.reserve(config.decoder_depth);
  for (int i = 0; i < config.decoder_depth; ++i) {
    blocks.emplace_back(reader.under(name + "." + std::to_string(i)), shape);
  }
  return blocks;
}

}  // namespace

at::Tensor picture_input(const PictureView& picture, DeviceKind device) {
  return (nn::picture_tensor(picture, device) - 0.5) / 0.5;
}

std::array<at::Tensor, 4> ViewStates::at(const std::array<int, 4>& hooks) const {
  return {entries[hooks[0]], entries[hooks[1]], entries[hooks[2]], entries[hooks[3]]};
}

Network::Network(const std::shared_ptr<const TensorSource>& weights, const Mast3rConfig& config,
                 const NetworkPlacement& placement, Precision heads, bool points)
    : config_(config),
      device_(nn::torch_device(placement.device)),
      type_(nn::scalar_type(placement.precision)),
      tables_(config.rotary_base, device_) {
  const nn::WeightReader reader(weights, placement);
  patches_ = nn::PatchEmbedding(reader, "patch_embed.proj", config.encoder_width, config.patch);
  const BlockShape shape{config.encoder_width, config.encoder_hidden, config.encoder_heads};
  for (int i = 0; i < config.encoder_depth; ++i) {
    encoder_.emplace_back(reader.under("enc_blocks." + std::to_string(i)), shape);
  }
  encoder_norm_ = nn::LayerNorm(reader, "enc_norm", config.encoder_width, kNormEpsilon);
  to_decoder_ = nn::Linear(reader, "decoder_embed", config.encoder_width, config.decoder_width);
  read_decoders(reader);
  decoder_norm_ = nn::LayerNorm(reader, "dec_norm", config.decoder_width, kNormEpsilon);
  read_heads(reader.in(heads), points);
  reader.skip("mask_token");  // of the training
  reader.finish("MASt3R");
}

void Network::read_decoders(const nn::WeightReader& reader) {
  decoders_[0] = std::make_shared<const std::vector<DecoderBlock>>(
      read_decoder(reader, "dec_blocks", config_));
  const bool own = reader.synthetic() || reader.has("dec_blocks2.0.norm1.weight");
  decoders_[1] = own ? std::make_shared<const std::vector<DecoderBlock>>(
                           read_decoder(reader, "dec_blocks2", config_))
                     : decoders_[0];
}

void Network::read_heads(const nn::WeightReader& reader, bool points) {
  if (points) points_.emplace();
  for (int view = 0; view < 2; ++view) {
    const nn::WeightReader head = reader.under("downstream_head" + std::to_string(view + 1));
    descriptors_[view] = DescriptorHead(head.under("head_local_features"), config_);
    if (points) {
      (*points_)[view] = PointHead(head.under("dpt"), config_);
    } else {
      head.skip_under("dpt.");
    }
  }
}

RotaryTable Network::rotary(const TokenGrid& grid, std::int64_t width, std::int64_t heads) const {
  return tables_.get(grid.rows, grid.columns, width / heads);
}

void Network::prepare(const TokenGrid& grid) const {
  rotary(grid, config_.encoder_width, config_.encoder_heads);
  rotary(grid, config_.decoder_width, config_.decoder_heads);
}

Encoded Network::encode(const at::Tensor& pictures) const {
  const TokenGrid grid{pictures.size(2) / config_.patch, pictures.size(3) / config_.patch};
  const RotaryTable table = rotary(grid, config_.encoder_width, config_.encoder_heads);
  at::Tensor tokens = patches_(pictures.to(device_, type_));
  for (const EncoderBlock& block : encoder_) tokens = block(tokens, table);
  return {encoder_norm_(tokens), grid};
}

bool Network::keeps(int entry, KeptStates kept) const {
  const std::array<int, 4> hooks = config_.hooks();
  return kept == KeptStates::all || entry == 0 || entry == config_.decoder_depth ||
         (kept == KeptStates::hooks && std::find(hooks.begin(), hooks.end(), entry) != hooks.end());
}

std::array<ViewStates, 2> Network::decode(const Encoded& first, const Encoded& second,
                                          KeptStates kept) const {
  const std::int64_t batch = std::max(first.feature.size(0), second.feature.size(0));
  assert(std::min(first.feature.size(0), second.feature.size(0)) == batch ||
         std::min(first.feature.size(0), second.feature.size(0)) == 1);
  const RotaryTable table1 = rotary(first.grid, config_.decoder_width, config_.decoder_heads);
  const RotaryTable table2 = rotary(second.grid, config_.decoder_width, config_.decoder_heads);
  std::array<ViewStates, 2> views{
      ViewStates{first.grid, {first.feature.expand({batch, -1, -1})}},
      ViewStates{second.grid, {second.feature.expand({batch, -1, -1})}}};
  at::Tensor x1 = to_decoder_(first.feature), x2 = to_decoder_(second.feature);
  for (int i = 0; i < config_.decoder_depth; ++i) {
    // Both read the states before this step.
    at::Tensor next1 = (*decoders_[0])[i](x1, table1, x2, table2);
    at::Tensor next2 = (*decoders_[1])[i](x2, table2, x1, table1);
    x1 = std::move(next1);
    x2 = std::move(next2);
    views[0].entries.push_back(keeps(i + 1, kept) ? x1 : at::Tensor());
    views[1].entries.push_back(keeps(i + 1, kept) ? x2 : at::Tensor());
  }
  for (ViewStates& view : views) view.entries.back() = decoder_norm_(view.entries.back());
  return views;
}

}  // namespace skyfix::mast3r
