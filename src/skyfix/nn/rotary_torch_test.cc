#include "skyfix/nn/rotary_torch.h"

#include <gmock/gmock.h>

#include <cmath>

#include "skyfix/memory/cuda_library.h"
#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::nn {
namespace {

constexpr std::int64_t kTokens = 5, kHeads = 3, kSize = 16;

RotaryCode code_of(std::int64_t parts) {
  at::manual_seed(2);
  const at::Tensor angles = at::randn({kTokens, parts, kSize / parts});
  return {angles.sin(), angles.cos()};
}

at::Tensor rows_of(std::int64_t extra, at::ScalarType type = at::kFloat) {
  at::manual_seed(1);
  return at::randn({2, kTokens, kHeads * kSize + extra}).to(type);
}

TEST(RotateHeads, TurnsEachPartByHalves) {
  for (const std::int64_t parts : {1, 2}) {
    const RotaryCode code = code_of(parts);
    const at::Tensor before = rows_of(7);
    at::Tensor rows = before.clone();
    rotate_heads(rows, {.heads = kHeads, .size = kSize, .parts = parts}, code);
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t width = kSize / parts, first = head * kSize + part * width;
        const at::Tensor wanted = rotate_halves(before.narrow(2, first, width),
                                                code.sin.select(1, part), code.cos.select(1, part));
        EXPECT_TRUE(rows.narrow(2, first, width).equal(wanted)) << head << " " << part;
      }
    }
    EXPECT_TRUE(rows.narrow(2, kHeads * kSize, 7).equal(before.narrow(2, kHeads * kSize, 7)));
    EXPECT_FALSE(rows.equal(before));
  }
}

TEST(RotateHeads, TurnsNeighboursWhereAsked) {
  const RotaryCode code = code_of(1);
  const at::Tensor before = rows_of(7);
  at::Tensor rows = before.clone();
  rotate_heads(rows, {.heads = kHeads, .size = kSize, .neighbours = true}, code);
  for (std::int64_t j = 0; j < kHeads * kSize; j += 2) {
    const at::Tensor a = before.select(2, j), b = before.select(2, j + 1);
    const auto at = [&](const at::Tensor& table, std::int64_t k) {
      return table.select(1, 0).select(1, k % kSize);
    };
    EXPECT_TRUE(rows.select(2, j).equal(a * at(code.cos, j) + b.neg() * at(code.sin, j))) << j;
    EXPECT_TRUE(rows.select(2, j + 1).equal(b * at(code.cos, j + 1) + a * at(code.sin, j + 1)))
        << j;
  }
  EXPECT_TRUE(rows.narrow(2, kHeads * kSize, 7).equal(before.narrow(2, kHeads * kSize, 7)));
}

TEST(AnglesByHalves, AreThePositionTimesFallingFrequencies) {
  const at::Tensor found = angles_by_halves(at::tensor({0.F, 3.F}), 8, 100);
  ASSERT_TRUE(found.sizes().equals({2, 8}));
  EXPECT_EQ(found[0].abs().max().item<float>(), 0);
  for (int j = 0; j < 4; ++j) {
    EXPECT_NEAR(found[1][j].item<double>(), 3 * std::pow(100.0, -2.0 * j / 8), 1e-6);
    EXPECT_EQ(found[1][j + 4].item<float>(), found[1][j].item<float>());
  }
}

TEST(RotateHeads, RoundsOnce) {
  const RotaryCode code = code_of(2);
  at::Tensor half = rows_of(0, at::kBFloat16), full = half.to(at::kFloat);
  const RotaryHeads heads{.heads = kHeads, .size = kSize, .parts = 2};
  rotate_heads(half, heads, code);
  rotate_heads(full, heads, code);
  EXPECT_TRUE(half.equal(full.to(at::kBFloat16)));
}

TEST(RotateHeads, IsEqualOnAGpu) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  const CudaDevice opened = open_cuda_device();
  const at::Device device = torch_device(DeviceKind::cuda);
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const std::int64_t kind : {1, 2, 3}) {
      const std::int64_t parts = kind == 2 ? 2 : 1;
      const RotaryHeads heads{
          .heads = kHeads, .size = kSize, .parts = parts, .neighbours = kind == 3};
      const RotaryCode code = code_of(parts);
      at::Tensor wanted = rows_of(8, type), found = wanted.to(device);
      rotate_heads_reference(wanted, heads, code);
      rotate_heads(found, heads, {code.sin.to(device), code.cos.to(device)});
      EXPECT_TRUE(found.to(at::kCPU).equal(wanted)) << at::toString(type) << " " << kind;
    }
  }
}

}  // namespace
}  // namespace skyfix::nn
