#include "skyfix/models/gct/gct_block_torch.h"

#include <gmock/gmock.h>

#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::gct {
namespace {

const BlockShape kShape{.width = 64, .hidden = 256, .heads = 2, .head_norms = true};

class GctBlockTest : public Goldens {
 protected:
  static nn::WeightReader reader(Precision precision = Precision::fp32) {
    return nn::WeightReader(make_synthetic_source(), {DeviceKind::cpu, precision})
        .under("aggregator.global_blocks.0");
  }
  // What the attention of global block 0 gets.
  struct Heads {
    at::Tensor q, k, v;
  };
  static Heads heads_of(const Block& block, const at::Tensor& x, const Rotation* rotation) {
    Heads heads;
    block(x, rotation, [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
      heads = {q, k, v};
      return v;
    });
    return heads;
  }
  static Rotation rotation() {
    return global_rotation(gct_tiny(), time_indices(0, 1, at::kCPU),
                           spatial_code(gct_tiny(), 4, 5, at::kCPU));
  }
};

TEST_F(GctBlockTest, NormalisesQueriesAndKeysByHead) {
  if (!open("tiny_single")) return;
  const Heads heads = heads_of(Block(reader(), kShape), golden("frame_block.0"), nullptr);
  expect_golden(heads.q, "global_block.0.q_norm");
  expect_golden(heads.k, "global_block.0.k_norm");
}

TEST_F(GctBlockTest, TurnsQueriesAndKeysButNotValues) {
  if (!open("tiny_single")) return;
  const Block block(reader(), kShape);
  const Rotation turned = rotation();
  const Heads plain = heads_of(block, golden("frame_block.0"), nullptr);
  const Heads found = heads_of(block, golden("frame_block.0"), &turned);
  const auto by_hand = [&](const at::Tensor& x) {
    return nn::rotate_neighbours(x, turned.code.sin, turned.code.cos);
  };
  EXPECT_TRUE(found.q.equal(by_hand(plain.q)));
  EXPECT_TRUE(found.k.equal(by_hand(plain.k)));
  EXPECT_TRUE(found.v.equal(plain.v));
  EXPECT_FALSE(found.q.equal(plain.q));
  expect_golden(block(golden("frame_block.0"), &turned, attend_within), "global_block.0");
}

TEST_F(GctBlockTest, ComputesInTheWeightsPrecisionAndAddsUpInFull) {
  if (!open("tiny_single")) return;
  const Block block(reader(Precision::bf16), kShape);
  const Rotation turned = rotation();
  const at::Tensor x = golden("frame_block.0");
  const Heads heads = heads_of(block, x, &turned);
  for (const at::Tensor& each : {heads.q, heads.k, heads.v}) {
    EXPECT_EQ(each.scalar_type(), at::kBFloat16);
  }
  const at::Tensor out = block(x, &turned, attend_within);
  EXPECT_EQ(out.scalar_type(), at::kFloat);
  const at::Tensor off = (out - golden("global_block.0")).abs();
  EXPECT_LT(off.max().item<double>(), 0.03);
  EXPECT_GT(off.max().item<double>(), 1e-5);
}

}  // namespace
}  // namespace skyfix::gct
