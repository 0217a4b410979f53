// MASt3R's network on tensors: one encoder, two decoders that exchange, two heads for each view.
// Specification: mast3r.md. Shapes are fixed by the grids and the batch and no step waits for the
// device, so that encode() and decode() with the heads can be captured.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "skyfix/models/mast3r/mast3r_config.h"
#include "skyfix/models/mast3r/mast3r_heads_torch.h"
#include "skyfix/models/mast3r/mast3r_layers_torch.h"
#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::mast3r {

// Pictures' encoder features [B, tokens, encoder width] in the network's precision.
struct Encoded {
  at::Tensor feature;
  TokenGrid grid;
};

// 8-bit RGB as the network takes it: [1, 3, H, W], fp32, -1..1, on the device.
at::Tensor picture_input(const PictureView& picture, DeviceKind device);

// What the heads of one view read: entries of the list of states, [B, tokens, width].
struct ViewStates {
  TokenGrid grid;
  std::vector<at::Tensor> entries;  // 0 the encoder feature; those that are not kept are undefined
  std::array<at::Tensor, 4> at(const std::array<int, 4>& hooks) const;
};

// Which entries of the list decode() keeps besides the first and the last.
enum class KeptStates { ends, hooks, all };

class Network {
 public:
  // Throws Error(bad_weights) for tensors that do not fit `config`. Without `points` the dense
  // heads are left on disk.
  Network(const std::shared_ptr<const TensorSource>& weights, const Mast3rConfig& config,
          const NetworkPlacement& placement, Precision heads, bool points);

  const Mast3rConfig& config() const { return config_; }
  at::Device device() const { return device_; }
  at::ScalarType type() const { return type_; }

  // [B, 3, H, W] of any float type, values -1..1, sides multiples of 16.
  Encoded encode(const at::Tensor& pictures) const;
  // View 1 and view 2 of equal batch, or one of a batch of one: a picture with each of the other's.
  // The states have the larger batch. Grids may differ.
  std::array<ViewStates, 2> decode(const Encoded& first, const Encoded& second,
                                   KeptStates kept) const;
  // Makes what encode() and decode() need of a grid beside their weights, so that both can be
  // recorded.
  void prepare(const TokenGrid& grid) const;
  // Of view 0 (the first) or 1.
  const DescriptorHead& descriptors(int view) const { return descriptors_[view]; }
  // Null when the network was made without.
  const PointHead* points(int view) const { return points_ ? &(*points_)[view] : nullptr; }

 private:
  RotaryTable rotary(const TokenGrid& grid, std::int64_t width, std::int64_t heads) const;
  void read_decoders(const nn::WeightReader& reader);
  void read_heads(const nn::WeightReader& reader, bool points);
  bool keeps(int entry, KeptStates kept) const;

  Mast3rConfig config_;
  at::Device device_;
  at::ScalarType type_;
  RotaryTables tables_;
  nn::PatchEmbedding patches_;
  std::vector<EncoderBlock> encoder_;
  nn::LayerNorm encoder_norm_;
  nn::Linear to_decoder_;
  // One decoder serves both views where the file has one.
  std::array<std::shared_ptr<const std::vector<DecoderBlock>>, 2> decoders_;
  nn::LayerNorm decoder_norm_;
  std::array<DescriptorHead, 2> descriptors_;
  std::optional<std::array<PointHead, 2>> points_;
};

}  // namespace skyfix::mast3r
