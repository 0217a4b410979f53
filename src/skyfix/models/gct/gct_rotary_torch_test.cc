#include "skyfix/models/gct/gct_rotary_torch.h"

#include <gmock/gmock.h>

#include <cmath>

#include "skyfix/models/gct/testing_torch.h"

namespace skyfix::gct {
namespace {

class GctRotaryTest : public Goldens {
 protected:
  // x [1, heads, tokens, size], turned.
  static at::Tensor turned(const at::Tensor& x, const Rotation& rotation) {
    const std::int64_t heads = x.size(1), size = x.size(3);
    at::Tensor rows = x.transpose(1, 2).flatten(2).contiguous();
    nn::rotate_heads(
        rows,
        {.heads = heads, .size = size, .parts = rotation.parts, .neighbours = rotation.neighbours},
        rotation.code);
    return rows.unflatten(-1, {heads, size}).transpose(1, 2);
  }

  // One of each neighbouring pair's two equal entries.
  static at::Tensor of_pairs(const at::Tensor& code) {
    const auto both = code.unflatten(-1, {-1, 2}).unbind(-1);
    EXPECT_TRUE(both[0].equal(both[1]));
    return both[0];
  }
};

TEST_F(GctRotaryTest, WithinAFrame) {
  if (!open("units", kUnitTolerance)) return;
  const at::Tensor positions = golden("rope2d.positions")[0];
  const std::int64_t rows = positions.select(1, 0).max().item<int>(),
                     columns = positions.select(1, 1).max().item<int>();
  GctConfig config = gct_official();
  ASSERT_EQ(positions.size(0), config.special_tokens() + rows * columns);
  // Special tokens first, then the patches row by row, from (1, 1) on.
  EXPECT_EQ(positions.narrow(0, 0, 6).abs().max().item<int>(), 0);
  const Rotation rotation = frame_rotation(config, rows, columns, at::kCPU);
  expect_golden(turned(golden("rope2d.in"), rotation), "rope2d.out");
}

TEST_F(GctRotaryTest, OverFrames) {
  if (!open("units", kUnitTolerance)) return;
  const GctConfig config = gct_official();
  const Rotation rotation =
      global_rotation(config, time_indices(5, 2, at::kCPU), spatial_code(config, 3, 4, at::kCPU));
  expect_golden(of_pairs(rotation.code.cos), "rope3d.trunk.cos");
  expect_golden(of_pairs(rotation.code.sin), "rope3d.trunk.sin");
  expect_golden(turned(golden("rope3d.trunk.in"), rotation), "rope3d.trunk.out");
}

TEST_F(GctRotaryTest, OfTheCameraHead) {
  if (!open("units", kUnitTolerance)) return;
  const Rotation rotation = camera_rotation(gct_official(), time_indices(9, 3, at::kCPU));
  expect_golden(of_pairs(rotation.code.cos), "rope3d.camera.cos");
  expect_golden(of_pairs(rotation.code.sin), "rope3d.camera.sin");
  expect_golden(turned(golden("rope3d.camera.in"), rotation), "rope3d.camera.out");
}

// The reference's tables end at 1024; angles here stay exact far beyond.
TEST_F(GctRotaryTest, TimeHasNoLimit) {
  const std::int64_t frame = 1'000'003;
  const nn::RotaryCode code = turned_by(time_indices(frame, 1, at::kCPU), 20);
  for (int k = 0; k < 10; ++k) {
    const double angle = double(frame) * std::pow(10000.0, -2.0 * k / 20);
    EXPECT_NEAR(code.sin[0][2 * k].item<double>(), std::sin(angle), 1e-7) << k;
    EXPECT_NEAR(code.cos[0][2 * k + 1].item<double>(), std::cos(angle), 1e-7) << k;
  }
}

}  // namespace
}  // namespace skyfix::gct
