#include "skyfix/nn/batch_norm_torch.h"

#include <gtest/gtest.h>

#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::nn {
namespace {

// Statistics that differ from channel to channel, as trained ones do.
BatchNorm varied(BatchNorm::Affine affine) {
  BatchNorm norm(WeightReader(make_synthetic_source(), {}), "bn", 6, affine);
  norm.mean = at::randn({6});
  norm.variance = at::rand({6}) + 0.1;
  if (affine == BatchNorm::Affine::yes) {
    norm.weight = at::randn({6});
    norm.bias = at::randn({6});
  }
  return norm;
}

TEST(BatchNorm, NormalisesEachChannel) {
  at::manual_seed(1);
  const BatchNorm norm = varied(BatchNorm::Affine::yes);
  const at::Tensor x = at::randn({1, 6, 3, 2});
  const auto by_channel = [](const at::Tensor& v) { return v.view({1, 6, 1, 1}); };
  const at::Tensor wanted = (x - by_channel(norm.mean)) /
                                by_channel((norm.variance + 1e-5).sqrt()) *
                                by_channel(norm.weight) +
                            by_channel(norm.bias);
  EXPECT_TRUE(at::allclose(norm(x), wanted, 1e-5, 1e-6));
}

TEST(BatchNorm, FoldedConvolutionEqualsBothLayers) {
  at::manual_seed(2);
  const WeightReader weights(make_synthetic_source(), {});
  const at::Tensor x = at::randn({1, 4, 9, 8});
  for (const bool with_bias : {false, true}) {
    for (const auto affine : {BatchNorm::Affine::no, BatchNorm::Affine::yes}) {
      const BatchNorm norm = varied(affine);
      Convolution convolution(weights, "conv", {4, 6, 3, 2, 1}, with_bias);
      const at::Tensor wanted = norm(convolution(x));
      norm.fold_into(convolution);
      EXPECT_TRUE(at::allclose(convolution(x), wanted, 1e-4, 1e-5));
    }
  }
}

}  // namespace
}  // namespace skyfix::nn
