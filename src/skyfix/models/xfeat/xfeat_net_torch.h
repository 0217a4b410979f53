// XFeat's network (Potje et al. 2024): from a picture to dense maps at an eighth of its size.
// Specification: xfeat.md, section 2.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/nn/batch_norm_torch.h"
#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::xfeat {

// `fast` multiplies batch normalisation (running statistics only) into the convolution before it
// when the weights are read, and computes the first layer on blocks of pixels; `plain` is the
// network as it is defined, the twin.
enum class Form { fast, plain };

// Convolution, batch normalisation, ReLU.
class Layer {
 public:
  Layer(const nn::WeightReader& weights, const std::string& name,
        const nn::Convolution::Shape& shape, Form form);
  at::Tensor operator()(const at::Tensor& x) const;

 private:
  nn::Convolution convolution_;
  std::optional<nn::BatchNorm> norm_;  // none where folded
  // One channel at full size is what kernels are worst at. On the four pixels of 2x2 blocks the
  // same sums are a convolution of four times the channels at half the size, six times as fast.
  bool in_blocks_ = false;
};
using Layers = std::vector<Layer>;

// Of one picture of height H and width W, multiples of 32.
struct DenseMaps {
  at::Tensor features;     // [1, 64, H/8, W/8], not normalised
  at::Tensor reliability;  // [1, 1, H/8, W/8] in 0..1
  at::Tensor logits;       // [1, 65, H/8, W/8]: channel 8 dy + dx of a cell's pixels, then "none"
};

class Net {
 public:
  explicit Net(const nn::WeightReader& weights, Form form = Form::fast);
  // grey: fp32 [1, 1, H, W] in 0..1, H and W multiples of 32. The maps have the weights' precision.
  DenseMaps operator()(const at::Tensor& grey) const;
  // Its parts, for those who time them.
  at::Tensor normalised(const at::Tensor& grey) const;
  at::Tensor features(const at::Tensor& normalised) const;
  DenseMaps heads(const at::Tensor& normalised, const at::Tensor& features) const;
  at::Device device() const { return skip_.weight.device(); }

 private:
  nn::Convolution skip_;
  Layers block1_, block2_, block3_, block4_, block5_, fusion_, heatmap_, keypoint_;
  nn::Convolution fusion_last_, heatmap_last_, keypoint_last_;
};

// Channels' mean, [1, C, H, W] -> [1, 1, H', W'] with sides rounded down to multiples of 32
// (bilinear, no antialiasing).
at::Tensor network_input(const at::Tensor& picture);

}  // namespace skyfix::xfeat
