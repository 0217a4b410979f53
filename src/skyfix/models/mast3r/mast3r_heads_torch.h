// The two heads of each view of MASt3R: points (a dense prediction head) and descriptors (an MLP on
// tokens). Specification: mast3r.md, section 6. Outputs are fp32 and channel-last.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "skyfix/models/mast3r/mast3r_config.h"
#include "skyfix/nn/dpt_torch.h"
#include "skyfix/nn/layers_torch.h"

namespace skyfix::mast3r {

// A picture in patches.
struct TokenGrid {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t tokens() const { return rows * columns; }
  bool operator==(const TokenGrid&) const = default;
};

struct Points {
  at::Tensor xyz;         // [B, H, W, 3]
  at::Tensor confidence;  // [B, H, W]
};

class PointHead {
 public:
  PointHead() = default;
  PointHead(const nn::WeightReader& dpt, const Mast3rConfig& config);
  // Before the output functions: [B, 4, H, W]. `states` are the list's entries at the hooks, of any
  // precision, [B, tokens, width].
  at::Tensor raw(const std::array<at::Tensor, 4>& states, const TokenGrid& grid) const;
  Points operator()(const std::array<at::Tensor, 4>& states, const TokenGrid& grid) const;

 private:
  std::array<nn::Convolution, 4> projections_;
  nn::DptPyramid pyramid_;
  nn::DptFusion fusion_;
  nn::Convolution head0_, head2_, head4_;
  double confidence_floor_ = 1;
};

struct Descriptors {
  at::Tensor rows;        // [..., size], unit length; NaN where the network gave zero
  at::Tensor confidence;  // [...]
};

class DescriptorHead {
 public:
  DescriptorHead() = default;
  DescriptorHead(const nn::WeightReader& local, const Mast3rConfig& config);
  // Before the output functions: [B, H, W, size + 1]. `feature` [B, tokens, encoder width] is the
  // list's first entry, `state` [B, tokens, decoder width] its last.
  at::Tensor raw(const at::Tensor& feature, const at::Tensor& state, const TokenGrid& grid) const;
  // At all pixels: [B, H, W]. The MLP takes `token_rows` rows of the grid at once (0 = all).
  Descriptors operator()(const at::Tensor& feature, const at::Tensor& state, const TokenGrid& grid,
                         std::int64_t token_rows = 0) const;
  // At `pixels` only: row-major indices into [B, H, W], rows [n, size] in their order; NaN and
  // confidence 0 where an index is -1. Cheaper than all pixels: the MLP's last layer is evaluated
  // there and hardly anywhere else. Sums run in another order than for all pixels.
  // `hidden` is that of the grid's tokens.
  Descriptors at_pixels(const at::Tensor& hidden, const TokenGrid& grid,
                        std::span<const std::int64_t> pixels) const;
  // The MLP's inner layer, [B, tokens, hidden]: all that at_pixels needs of a picture.
  at::Tensor hidden(const at::Tensor& feature, const at::Tensor& state) const;

 private:
  at::Tensor raw_of_hidden(const at::Tensor& hidden, std::int64_t columns) const;
  at::Tensor raw_at(const at::Tensor& hidden, const std::vector<std::int64_t>& tokens,
                    std::int64_t depth) const;
  Descriptors outputs(const at::Tensor& raw) const;

  nn::Linear fc1_;
  // Not as stored: outputs ordered by pixel of the patch, then channel, so that a pixel's channels
  // come out beside each other and a pixel's weights are one block.
  nn::Linear fc2_;
  std::int64_t patch_ = 16;
  std::int64_t channels_ = 25;  // descriptor size + 1
  double confidence_floor_ = 0;
};

}  // namespace skyfix::mast3r
