// ALIKED's descriptors: samples around a keypoint at places that its 3x3 neighbourhood chooses.
// Specification: aliked_lightglue.md, section 2.3.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>

#include "skyfix/models/aliked/aliked_config.h"
#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::aliked {

// Unit features [n, dimension] fp32 at whole pixels (x, y) [n] int64 within the picture.
using PixelReader = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& y)>;

class DescriptorHead {
 public:
  DescriptorHead(const nn::WeightReader& weights, const Config& config);
  // Unit rows [n, dimension] fp32 at places [n, 2] fp32 of a picture of height x width.
  at::Tensor operator()(const PixelReader& read, const at::Tensor& places, std::int64_t height,
                        std::int64_t width) const;
  // Of the samples from their keypoints [n, samples, 2] (x, y), px.
  at::Tensor offsets(const PixelReader& read, const at::Tensor& places, std::int64_t height,
                     std::int64_t width) const;

 private:
  at::Tensor describe_chunk(const PixelReader& read, const at::Tensor& places, std::int64_t height,
                            std::int64_t width) const;

  Config config_;
  nn::Linear offset_first_;  // over the 3x3 patch, row by row
  nn::Linear offset_last_, mix_;
  at::Tensor aggregation_;  // [samples * dimension, dimension]
};

}  // namespace skyfix::aliked
