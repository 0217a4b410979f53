#include "skyfix/nn/batch_norm_torch.h"

#include <string>

namespace skyfix::nn {

BatchNorm::BatchNorm(const WeightReader& weights, std::string_view name, std::int64_t channels,
                     Affine affine) {
  const std::string prefix = std::string(name) + ".";
  mean = weights.get_fp32(prefix + "running_mean", {channels});
  variance = weights.get_fp32(prefix + "running_var", {channels});
  weights.skip(prefix + "num_batches_tracked");
  if (affine == Affine::no) return;
  weight = weights.get_fp32(prefix + "weight", {channels});
  bias = weights.get_fp32(prefix + "bias", {channels});
}

at::Tensor BatchNorm::operator()(const at::Tensor& x) const {
  return at::batch_norm(x, weight, bias, mean, variance, /*training=*/false, 0.0, eps, false);
}

void BatchNorm::fold_into(Convolution& convolution) const {
  at::Tensor factor = (variance + eps).rsqrt();
  if (weight.defined()) factor = factor * weight;
  at::Tensor shift = mean.neg();
  if (convolution.bias.defined()) shift = shift + convolution.bias;
  shift = shift * factor;
  if (bias.defined()) shift = shift + bias;
  convolution.weight = convolution.weight * factor.view({-1, 1, 1, 1});
  convolution.bias = shift;
}

}  // namespace skyfix::nn
