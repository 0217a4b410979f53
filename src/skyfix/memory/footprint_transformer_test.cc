#include "skyfix/memory/footprint_transformer.h"

#include <gmock/gmock.h>

namespace skyfix {
namespace {

TEST(TransformerFootprint, BlockParametersAreThoseOfTheSpecifications) {
  EXPECT_EQ(block_parameters({.width = 1024, .hidden = 4096, .layer_scale = true}), 12'598'272);
  EXPECT_EQ(
      block_parameters({.width = 1024, .hidden = 4096, .layer_scale = true, .head_norms = true}),
      12'598'528);
  EXPECT_EQ(block_parameters({.width = 2048, .hidden = 8192, .layer_scale = true}), 50'362'368);
  EXPECT_EQ(24 * block_parameters({.width = 1024, .hidden = 4096}), 302'309'376);
}

TEST(TransformerFootprint, ActivationsGrowWithTokensTypeAndGate) {
  const BlockShape plain{.width = 1024, .hidden = 4096};
  EXPECT_EQ(block_activation_bytes(plain, 1, DataType::bf16), 4U * 1024 + 10U * 1024 * 2);
  EXPECT_EQ(block_activation_bytes(plain, 10, DataType::fp32), 10U * 11 * 1024 * 4);
  const BlockShape gated{.width = 1024, .hidden = 4096, .gated = true};
  EXPECT_EQ(block_activation_bytes(gated, 1, DataType::bf16), 4U * 1024 + 14U * 1024 * 2);
}

TEST(TransformerFootprint, TheDenseHeadPeaksWhereItsMapsAreLargest) {
  // Patch 14: two maps of 196 x 128 and one of 196 x 32 values a patch.
  EXPECT_EQ(dense_head_activation_bytes({.patch = 14, .final = 32}, 1, DataType::fp32),
            4U * (2 * 196 * 128 + 196 * 32));
  EXPECT_EQ(dense_head_activation_bytes({.patch = 16, .final = 128}, 3, DataType::bf16),
            2U * 3 * (3 * 256 * 128));
  // With few channels at full size, the fusion of 64 x 256 values a patch decides.
  EXPECT_EQ(dense_head_activation_bytes({.patch = 8, .last = 16, .final = 16}, 1, DataType::fp32),
            4U * (16 * 256 + 3 * 64 * 256));
}

}  // namespace
}  // namespace skyfix
