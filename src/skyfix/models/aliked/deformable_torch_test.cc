#include "skyfix/models/aliked/deformable_torch.h"

#include <gtest/gtest.h>

#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::aliked {
namespace {

TEST(DeformableConvolution, GatheringEqualsNineSamplers) {
  at::manual_seed(4);
  const nn::WeightReader weights(make_synthetic_source(), {});
  const nn::BatchNorm norm(weights, "bn1", 6, nn::BatchNorm::Affine::yes);
  const DeformableConvolution convolution(weights, "conv1", 5, 6, norm);
  // Large values move taps far, some out of the map.
  const at::Tensor x = at::randn({1, 5, 9, 14}) * 30;
  const at::Tensor found = convolution(x), wanted = convolution.reference(x);
  ASSERT_TRUE(found.sizes().equals({1, 6, 9, 14}));
  EXPECT_TRUE(at::allclose(found, wanted, 1e-4, 1e-3));
  const at::Tensor channels_last = x.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(at::allclose(convolution(channels_last), wanted, 1e-4, 1e-3));
}

}  // namespace
}  // namespace skyfix::aliked
