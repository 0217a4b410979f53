// Batch normalisation as networks are used, not trained: by running statistics.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::nn {

struct BatchNorm {
  enum class Affine { no, yes };  // whether weight and bias follow the normalisation

  // NAME.running_mean, .running_var, with `affine` .weight and .bias; .num_batches_tracked is
  // skipped. Held in fp32.
  BatchNorm(const WeightReader& weights, std::string_view name, std::int64_t channels,
            Affine affine);
  at::Tensor operator()(const at::Tensor& x) const;  // [B, channels, H, W]
  // Changes the convolution before it so that it does both: a pass over the map less. Multiply in
  // fp32: read such a convolution with `weights.in(Precision::fp32)` and cast it afterwards.
  void fold_into(Convolution& convolution) const;

  at::Tensor mean, variance;  // [channels]
  at::Tensor weight, bias;    // undefined without
  double eps = 1e-5;
};

}  // namespace skyfix::nn
