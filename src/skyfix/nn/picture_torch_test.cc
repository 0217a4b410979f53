#include "skyfix/nn/picture_torch.h"

#include <gtest/gtest.h>

#include <vector>

namespace skyfix::nn {
namespace {

TEST(PictureTensor, ChannelsBecomePlanesInZeroToOne) {
  const std::vector<std::uint8_t> pixels{0, 51, 255, 10, 20, 30, 1, 2, 3, 4, 5, 6};
  const at::Tensor tensor = picture_tensor({pixels.data(), 2, 2, 3}, DeviceKind::cpu);
  ASSERT_EQ(tensor.sizes(), (at::IntArrayRef{1, 3, 2, 2}));
  EXPECT_EQ(tensor.scalar_type(), at::kFloat);
  EXPECT_TRUE(tensor.is_contiguous());
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 2; ++column) {
      for (int channel = 0; channel < 3; ++channel) {
        EXPECT_EQ(tensor[0][channel][row][column].item<float>(),
                  float(pixels[std::size_t((row * 2 + column) * 3 + channel)]) / 255.0f);
      }
    }
  }
}

TEST(PictureTensor, IsACopy) {
  std::vector<std::uint8_t> pixels(6, 255);
  const at::Tensor tensor = picture_tensor({pixels.data(), 3, 2, 1}, DeviceKind::cpu);
  pixels.assign(6, 0);
  ASSERT_EQ(tensor.sizes(), (at::IntArrayRef{1, 1, 2, 3}));
  EXPECT_EQ(tensor.min().item<float>(), 1);
}

}  // namespace
}  // namespace skyfix::nn
