// The dense prediction head (Ranftl et al. 2021), as MASt3R and the streaming model have it: four
// token maps become a pyramid, which is fused from coarse to fine. What differs between the two is
// an option; what they do to the fused map afterwards is theirs. Sizes are h x w tokens.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "skyfix/nn/layers_torch.h"

namespace skyfix::nn {

// Bilinear; corner samples stay on corner samples. A source of size 1 is copied.
at::Tensor resize_corners(const at::Tensor& x, std::int64_t height, std::int64_t width);

// Projected maps [B, widths[i], h, w] to the pyramid's sizes: 4h x 4w, 2h x 2w, h x w and
// ceil(h/2) x ceil(w/2).
class DptPyramid {
 public:
  DptPyramid() = default;
  struct Names {
    std::string by_4, by_2, halve;  // the three layers that change the size
  };
  DptPyramid(const WeightReader& weights, const Names& names,
             const std::array<std::int64_t, 4>& widths);
  at::Tensor operator()(const at::Tensor& map, int level) const;

 private:
  TransposedConvolution by_4_, by_2_;
  Convolution halve_;
};

struct DptFusionShape {
  std::array<std::int64_t, 4> widths{};  // of the pyramid's maps
  std::int64_t width = 256;              // of the fused maps
  // What a residual unit adds its result to: its input, or the rectified input.
  bool rectified_skip = false;
  // How a fused map comes to the size of the next finer level: doubled and cut at the bottom right
  // (true), or resized to exactly that size.
  bool double_and_crop = true;
};

// `scratch` of the checkpoints: layer{1..4}_rn, refinenet{1..4}. Maps of the pyramid, finest first,
// to [B, width, 8h, 8w].
class DptFusion {
 public:
  DptFusion() = default;
  DptFusion(const WeightReader& scratch, const DptFusionShape& shape);
  // For tests: sees the levels' maps ("layer1_rn", finest) and each block's ("refinenet4" first).
  using OnMap = std::function<void(const std::string& name, const at::Tensor& map)>;
  at::Tensor operator()(const std::array<at::Tensor, 4>& pyramid, const OnMap& on_map = {}) const;

 private:
  struct ResidualUnit {
    Convolution conv1, conv2;
    bool rectified_skip = false;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct Block {
    ResidualUnit unit1;  // of the level's own map; the coarsest block has none in use
    ResidualUnit unit2;
    Convolution out;
  };
  ResidualUnit read_unit(const WeightReader& scratch, const std::string& name) const;
  at::Tensor fuse(const Block& block, const at::Tensor& x, const at::Tensor& next) const;

  DptFusionShape shape_;
  std::array<Convolution, 4> levels_;
  std::array<Block, 4> blocks_;
};

}  // namespace skyfix::nn
