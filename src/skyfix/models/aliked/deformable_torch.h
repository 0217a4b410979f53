// Deformable convolution, first version (Dai et al. 2017): 3x3, each tap moved by an offset of its
// own at every pixel. Specification: aliked_lightglue.md, section 2.1.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

#include "skyfix/nn/batch_norm_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::aliked {

class DeformableConvolution {
 public:
  // NAME.offset_conv.{weight,bias}, NAME.regular_conv.weight; `norm` follows and is folded in.
  DeformableConvolution(const nn::WeightReader& weights, const std::string& name, std::int64_t in,
                        std::int64_t out, const nn::BatchNorm& norm);
  // [1, in, h, w] -> [1, out, h, w]. Gathers the moved taps of all pixels, then one product.
  at::Tensor operator()(const at::Tensor& x) const;
  // The twin: nine samplers and nine products.
  at::Tensor reference(const at::Tensor& x) const;

 private:
  // [1, 18, h, w]: dy, dx of each tap.
  at::Tensor offsets(const at::Tensor& x) const;

  nn::Convolution offset_;
  nn::Convolution regular_;  // its weights and bias only
};

}  // namespace skyfix::aliked
