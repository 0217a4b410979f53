#include "skyfix/models/mast3r/mast3r_layers_torch.h"

#include <gmock/gmock.h>

#include <cmath>

namespace skyfix::mast3r {
namespace {

constexpr std::int64_t kRows = 3, kColumns = 4, kHeads = 2, kHeadSize = 8;

at::Tensor noise(at::IntArrayRef shape, int seed = 1) {
  at::manual_seed(seed);
  return at::randn(shape);
}

at::Tensor rotate(const at::Tensor& x, const RotaryTable& table) {
  at::Tensor rows = x.flatten(2).clone();
  nn::rotate_heads(rows, {.heads = rows.size(2) / kHeadSize, .size = kHeadSize, .parts = 2}, table);
  return rows.view_as(x);
}

// The formula of the specification for one head vector.
std::vector<double> turned(const at::Tensor& head, std::int64_t row, std::int64_t column) {
  const std::int64_t half = kHeadSize / 2, pairs = half / 2;
  std::vector<double> out(kHeadSize);
  for (int axis = 0; axis < 2; ++axis) {
    for (std::int64_t j = 0; j < pairs; ++j) {
      const double theta = double(axis == 0 ? row : column) * std::pow(100.0, -2.0 * j / half);
      const double a = head[axis * half + j].item<double>();
      const double b = head[axis * half + pairs + j].item<double>();
      out[axis * half + j] = a * std::cos(theta) - b * std::sin(theta);
      out[axis * half + pairs + j] = b * std::cos(theta) + a * std::sin(theta);
    }
  }
  return out;
}

TEST(Rotate, FollowsTheFormula) {
  const RotaryTable table = make_rotary_table(kRows, kColumns, kHeadSize, 100, at::kCPU);
  const at::Tensor x = noise({2, kRows * kColumns, kHeads, kHeadSize});
  const at::Tensor found = rotate(x, table);
  ASSERT_TRUE(found.sizes().equals(x.sizes()));
  for (std::int64_t token = 0; token < kRows * kColumns; ++token) {
    const auto wanted = turned(x[1][token][1], token / kColumns, token % kColumns);
    for (std::int64_t i = 0; i < kHeadSize; ++i) {
      EXPECT_NEAR(found[1][token][1][i].item<double>(), wanted[i], 1e-5) << token << " " << i;
    }
  }
}

TEST(Rotate, TurnsQueriesAndKeysTogetherAsEachAlone) {
  const RotaryTable table = make_rotary_table(kRows, kColumns, kHeadSize, 100, at::kCPU);
  const at::Tensor both = noise({2, kRows * kColumns, 2, kHeads, kHeadSize});
  const at::Tensor found = rotate(both, table);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(found.select(2, i).equal(rotate(both.select(2, i), table)));
  }
}

TEST(Rotate, KeepsItsInputsPrecision) {
  const RotaryTable table = make_rotary_table(kRows, kColumns, kHeadSize, 100, at::kCPU);
  const at::Tensor x = noise({1, kRows * kColumns, kHeads, kHeadSize}).to(at::kBFloat16);
  const at::Tensor found = rotate(x, table);
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  // Computed in fp32 and rounded once.
  EXPECT_TRUE(found.equal(rotate(x.to(at::kFloat), table).to(at::kBFloat16)));
}

TEST(RotaryTablesTest, MakesEachGridItsOwn) {
  const RotaryTables tables(100, at::kCPU);
  const RotaryTable first = tables.get(3, 4, 8);
  EXPECT_TRUE(first.sin.is_same(tables.get(3, 4, 8).sin));
  EXPECT_TRUE(first.cos.sizes().equals({12, 2, 4}));
  EXPECT_FALSE(first.sin.equal(tables.get(4, 3, 8).sin));
  EXPECT_TRUE(tables.get(3, 4, 16).sin.sizes().equals({12, 2, 8}));
}

}  // namespace
}  // namespace skyfix::mast3r
