// ALIKED's network (Zhao et al. 2023): from a picture to a map of scores and to features at any
// pixel. Specification: aliked_lightglue.md, section 2.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "skyfix/models/aliked/deformable_torch.h"
#include "skyfix/models/aliked/descriptor_head_torch.h"
#include "skyfix/models/sampling_torch.h"
#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::aliked {

// The four maps of the encoder, of the padded picture: H, H/2, H/8, H/32.
struct Encoded {
  at::Tensor x1, x2, x3, x4;
};

// What the heads read. Pixels have integer centres and belong to the picture given, not to the
// padded one.
struct DenseMaps {
  at::Tensor scores;  // fp32 [height, width] in 0..1
  std::int64_t height = 0, width = 0;
  std::int64_t left = 0, top = 0;  // padding, px
  std::int64_t padded_height = 0, padded_width = 0;
  models::FeatureTable x1;                // before its 1x1 convolution
  models::FeatureTable low2, low3, low4;  // after theirs
};

class Net {
 public:
  Net(const nn::WeightReader& weights, const Config& config);
  // [1, 3, H, W] fp32 in 0..1; any size.
  Encoded encode(const at::Tensor& picture) const;
  // Nothing of full size has more than c1 channels: the first layer of the score head is linear, so
  // it comes before the enlargement; features are computed where they are read.
  DenseMaps maps(const at::Tensor& picture) const;
  at::Tensor features_at(const DenseMaps& maps, const at::Tensor& x, const at::Tensor& y) const;
  // Of places [n, 2] fp32.
  at::Tensor describe(const DenseMaps& maps, const at::Tensor& places) const;

  // The twin: all features at full size, as the network is defined.
  struct Direct {
    at::Tensor scores;    // [height, width]
    at::Tensor features;  // [1, dimension, height, width], unit at each pixel
  };
  Direct direct(const at::Tensor& picture) const;

  const DescriptorHead& descriptor_head() const { return descriptors_; }
  const Config& config() const { return config_; }
  at::Device device() const { return heads_[0].weight.device(); }

 private:
  // Two convolutions with their normalisation folded in; from the second block on with a way round.
  struct PlainBlock {
    nn::Convolution first, second, around;
  };
  struct DeformableBlock {
    DeformableConvolution first, second;
    nn::Convolution around;
  };
  static PlainBlock plain_block(const nn::WeightReader& weights, const std::string& name,
                                std::int64_t in, std::int64_t out, bool with_way_round);
  static DeformableBlock deformable_block(const nn::WeightReader& weights, const std::string& name,
                                          std::int64_t in, std::int64_t out);
  static at::Tensor run(const DeformableBlock& block, const at::Tensor& x);
  at::Tensor head(int i, const at::Tensor& x) const;
  at::Tensor rest_of_scores(at::Tensor first) const;  // -> [1, 1, H, W] in 0..1

  Config config_;
  PlainBlock block1_, block2_;
  DeformableBlock block3_, block4_;
  std::vector<nn::Convolution> heads_;   // 1x1, to a quarter of the dimension each
  std::vector<nn::Convolution> scores_;  // four layers
  DescriptorHead descriptors_;
};

}  // namespace skyfix::aliked
