#include "skyfix/models/gct/gct_dense_torch.h"

#include <gmock/gmock.h>

#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::gct {
namespace {

using Values = DenseHead::Values;

class GctDenseTest : public Goldens {
 protected:
  static DenseHead head(Values values, Precision precision = Precision::fp32) {
    const nn::WeightReader reader(make_synthetic_source(), {DeviceKind::cpu, precision});
    return DenseHead(reader.under(values == Values::depth ? "depth_head" : "point_head"),
                     gct_tiny(), values);
  }
  std::array<at::Tensor, 4> taps() const {
    std::array<at::Tensor, 4> taps;
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const std::string pair = std::to_string(gct_tiny().taps[i]);
      taps[i] = at::cat({golden("frame_block." + pair), golden("global_block." + pair)}, -1);
    }
    return taps;
  }
  // Of n frames that differ.
  static std::array<at::Tensor, 4> made_taps(std::int64_t frames) {
    at::manual_seed(5);
    std::array<at::Tensor, 4> taps;
    for (at::Tensor& tap : taps) tap = at::randn({frames, 26, 128});
    return taps;
  }
};

TEST_F(GctDenseTest, PositionMapsAreTheReferences) {
  if (!open("units", kUnitTolerance)) return;
  const auto map = [](std::int64_t channels, std::int64_t height, std::int64_t width,
                      double aspect) {
    at::Tensor zero = at::zeros({1, channels, height, width});
    position_map(channels, height, width, aspect, at::dtype(at::kFloat)).add_to(zero);
    return zero;
  };
  expect_golden(map(16, 16, 20, 70.0 / 56), "uv_embed.16x20.img56x70.c16");
  expect_golden(map(8, 21, 37, 518.0 / 294), "uv_embed.21x37.img294x518.c8");
  expect_golden(map(32, 4, 5, 70.0 / 56), "uv_embed.4x5.img56x70.c32");
  expect_golden(map(16, 56, 70, 70.0 / 56), "uv_embed.56x70.img56x70.c16");
}

TEST_F(GctDenseTest, ResizesAsTheReference) {
  if (!open("units", kUnitTolerance)) return;
  const at::Tensor in = golden("bilinear.in");
  expect_golden(nn::resize_corners(in, 4, 5), "bilinear.out.4x5");
  expect_golden(nn::resize_corners(in, 6, 8), "bilinear.out.6x8");
  expect_golden(nn::resize_corners(in, 7, 9), "bilinear.out.7x9");
}

TEST_F(GctDenseTest, ActivatesAsTheReference) {
  if (!open("units", kUnitTolerance)) return;
  const at::Tensor in = golden("activation.in");
  const auto [depth, depth_confidence] = head(Values::depth).activated(in);
  expect_golden(depth, "activation.exp");
  expect_golden(depth_confidence, "activation.conf_expp1");
  const auto [points, points_confidence] = head(Values::points).activated(in);
  expect_golden(points, "activation.inv_log");
  expect_golden(points_confidence, "activation.conf_expp1");
}

TEST_F(GctDenseTest, StageByStage) {
  if (!open("tiny_single")) return;
  for (const Values values : {Values::depth, Values::points}) {
    const std::string prefix = values == Values::depth ? "depth_head." : "point_head.";
    int steps = 0;
    head(values).logits(taps(), 4, 5, [&](const std::string& name, const at::Tensor& value) {
      expect_golden(value, prefix + name);
      ++steps;
    });
    EXPECT_EQ(steps, 4 * 3 + 4 + 4 + 2);
  }
}

TEST_F(GctDenseTest, FramesAtOnceChangeNothing) {
  const DenseHead depth = head(Values::depth);
  const auto taps = made_taps(5);
  const auto whole = depth(taps, 4, 5, 8);
  EXPECT_TRUE(whole.first.sizes().equals({5, 56, 70, 1}));
  EXPECT_TRUE(whole.second.sizes().equals({5, 56, 70}));
  for (const std::int64_t at_once : {1, 2, 5}) {
    const auto found = depth(taps, 4, 5, at_once);
    EXPECT_TRUE(found.first.allclose(whole.first, 1e-5, 1e-6)) << at_once;
    EXPECT_TRUE(found.second.allclose(whole.second, 1e-5, 1e-6)) << at_once;
  }
}

// Each size has its own position maps, whichever came first.
TEST_F(GctDenseTest, SizesDoNotMix) {
  const DenseHead used = head(Values::depth);
  auto taps = made_taps(1);
  const auto landscape = used(taps, 4, 5, 8);
  EXPECT_TRUE(used(taps, 5, 4, 8).first.equal(head(Values::depth)(taps, 5, 4, 8).first));
  EXPECT_TRUE(used(taps, 4, 5, 8).first.equal(landscape.first));
}

TEST_F(GctDenseTest, RunsInHalfPrecision) {
  if (!open("tiny_single")) return;
  const auto [depth, confidence] = head(Values::depth, Precision::bf16)(taps(), 4, 5, 8);
  EXPECT_EQ(depth.scalar_type(), at::kFloat);
  const at::Tensor off = (depth.flatten() / golden("out.depth").flatten() - 1).abs();
  EXPECT_LT(off.max().item<double>(), 0.05);
  EXPECT_GT(off.max().item<double>(), 1e-5);
  EXPECT_GT(confidence.min().item<double>(), 1);
}

}  // namespace
}  // namespace skyfix::gct
