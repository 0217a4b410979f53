#include "skyfix/models/gct/gct_encoder_torch.h"

#include <gmock/gmock.h>

#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::gct {
namespace {

class GctEncoderTest : public Goldens {
 protected:
  const nn::WeightReader reader_ =
      nn::WeightReader(make_synthetic_source(), {}).under("aggregator.patch_embed");
};

TEST_F(GctEncoderTest, ResizesPositionsAsTheReference) {
  if (!open("units", kUnitTolerance)) return;
  const at::Tensor stored = golden("pos_embed.in");
  const std::pair<int, int> sizes[] = {{21, 37}, {27, 37}, {37, 28}, {37, 37}, {40, 45}, {6, 8}};
  for (const auto& [rows, columns] : sizes) {
    expect_golden(resized_positions(stored, 37, rows, columns),
                  "pos_embed.out." + std::to_string(rows) + "x" + std::to_string(columns));
  }
}

TEST_F(GctEncoderTest, StageByStage) {
  if (!open("tiny_single")) return;
  const Encoder encoder(reader_, gct_tiny());
  const at::Tensor images = tiny_images(1);
  expect_golden(encoder.patches(images), "dino.patch_conv");
  expect_golden(resized_positions(reader_.get("pos_embed", {1, 1370, 64}), 37, 4, 5),
                "dino.pos_embed");
  at::Tensor tokens = encoder.embed(images);
  for (std::size_t n = 0; n < 2; ++n) {
    tokens = encoder.block(n, tokens);
    expect_golden(tokens, "dino.block." + std::to_string(n));
  }
  expect_golden(encoder.normalise(tokens), "dino.norm");
  // Class and registers stay behind.
  EXPECT_TRUE(encoder(images).allclose(golden("dino.norm").slice(1, 5), 1e-5, 1e-5));
}

TEST_F(GctEncoderTest, FramesAreIndependent) {
  if (!open("tiny_images")) return;
  const Encoder encoder(reader_, gct_tiny());
  const at::Tensor images = tiny_images(3), together = encoder(images);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(encoder(images.narrow(0, i, 1)).allclose(together.narrow(0, i, 1), 1e-5, 1e-5));
  }
  EXPECT_FALSE(together[0].allclose(together[1], 1e-2, 1e-2));
}

}  // namespace
}  // namespace skyfix::gct
