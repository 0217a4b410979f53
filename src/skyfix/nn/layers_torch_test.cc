#include "skyfix/nn/layers_torch.h"

#include <gmock/gmock.h>

#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::nn {
namespace {

// Weights under any name and shape.
WeightReader any_weights(Precision precision = Precision::fp32) {
  return {make_synthetic_source(), {DeviceKind::cpu, precision}};
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  if (!a.sizes().equals(b.sizes())) return std::numeric_limits<double>::infinity();
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

at::Tensor in_double(const at::Tensor& x) { return x.to(at::kDouble); }

TEST(Linear, IsTheProductWithTheTransposedWeightAndTheBias) {
  const Linear linear(any_weights(), "some.layer", 5, 3);
  EXPECT_EQ(linear.weight.sizes(), (at::IntArrayRef{3, 5}));
  const at::Tensor x = at::randn({2, 4, 5});
  const at::Tensor wanted =
      at::matmul(in_double(x), in_double(linear.weight).t()) + in_double(linear.bias);
  EXPECT_LE(largest_difference(linear(x), wanted), 1e-6);
  const Linear bare(any_weights(), "some.layer", 5, 3, false);
  EXPECT_FALSE(bare.bias.defined());
  EXPECT_LE(largest_difference(bare(x), wanted - in_double(linear.bias)), 1e-6);
}

TEST(Linear, ReadsTheNamesOfAStateDict) {
  const WeightReader weights = any_weights();
  const Linear linear(weights.under("blocks.3"), "mlp.fc1", 5, 3);
  EXPECT_EQ(largest_difference(linear.weight, weights.get("blocks.3.mlp.fc1.weight", {3, 5})), 0);
  EXPECT_EQ(largest_difference(linear.bias, weights.get("blocks.3.mlp.fc1.bias", {3})), 0);
}

TEST(LayerNorm, NormalisesTheLastDimension) {
  const LayerNorm norm(any_weights(), "norm", 6, 1e-3);
  const at::Tensor x = at::randn({2, 3, 6}) * 4 + 1;
  const at::Tensor deep = in_double(x);
  const at::Tensor mean = deep.mean(-1, true);
  const at::Tensor variance = (deep - mean).square().mean(-1, true);
  const at::Tensor wanted =
      (deep - mean) / (variance + 1e-3).sqrt() * in_double(norm.weight) + in_double(norm.bias);
  EXPECT_LE(largest_difference(norm(x), wanted), 1e-5);
}

TEST(Convolution, StrideAndPadding) {
  const Convolution convolution(any_weights(), "conv", {2, 4, 3, 2, 1});
  const at::Tensor x = at::randn({1, 2, 7, 9});
  const at::Tensor found = convolution(x);
  ASSERT_EQ(found.sizes(), (at::IntArrayRef{1, 4, 4, 5}));
  // The place (1, 2) sees rows 1..3 and columns 3..5.
  const at::Tensor seen = in_double(x[0]).narrow(1, 1, 3).narrow(2, 3, 3);
  for (int out = 0; out < 4; ++out) {
    const double wanted = (seen * in_double(convolution.weight[out])).sum().item<double>() +
                          convolution.bias[out].item<double>();
    EXPECT_NEAR(found[0][out][1][2].item<double>(), wanted, 1e-5);
  }
  EXPECT_FALSE(Convolution(any_weights(), "conv", {2, 4, 3, 2, 1}, false).bias.defined());
}

TEST(TransposedConvolution, EveryPixelBecomesABlock) {
  const TransposedConvolution layer(any_weights(), "up", 3, 2, 4);
  const at::Tensor x = at::randn({1, 3, 2, 5});
  const at::Tensor found = layer(x);
  ASSERT_EQ(found.sizes(), (at::IntArrayRef{1, 2, 8, 20}));
  for (int row = 0; row < 2; ++row) {
    for (int column = 0; column < 5; ++column) {
      const at::Tensor pixel = in_double(x[0].select(1, row).select(1, column));
      const at::Tensor wanted = (pixel.view({3, 1, 1, 1}) * in_double(layer.weight)).sum(0) +
                                in_double(layer.bias).view({2, 1, 1});
      const at::Tensor block = found[0].narrow(1, 4 * row, 4).narrow(2, 4 * column, 4);
      EXPECT_LE(largest_difference(block, wanted), 1e-5);
    }
  }
}

TEST(PatchEmbedding, TokensAreRowsOfPatches) {
  const PatchEmbedding embedding(any_weights(), "patch_embed.proj", 6, 4);
  const at::Tensor image = at::randn({2, 3, 9, 14});  // two rows of three patches, and a rest
  const at::Tensor tokens = embedding(image);
  ASSERT_EQ(tokens.sizes(), (at::IntArrayRef{2, 6, 6}));
  EXPECT_TRUE(tokens.is_contiguous());
  for (int patch = 0; patch < 6; ++patch) {
    const at::Tensor pixels =
        in_double(image[1]).narrow(1, 4 * (patch / 3), 4).narrow(2, 4 * (patch % 3), 4);
    const at::Tensor wanted = at::matmul(in_double(embedding.weight).flatten(1), pixels.flatten()) +
                              in_double(embedding.bias);
    EXPECT_LE(largest_difference(tokens[1][patch], wanted), 1e-5) << patch;
  }
}

TEST(Mlp, UsesTheExactGelu) {
  const Mlp mlp(any_weights(), "mlp", 4, 8);
  const at::Tensor x = at::randn({3, 4}) * 2;
  const at::Tensor hidden =
      at::matmul(in_double(x), in_double(mlp.fc1.weight).t()) + in_double(mlp.fc1.bias);
  const at::Tensor active = hidden * 0.5 * (1 + at::erf(hidden / std::sqrt(2.0)));
  const at::Tensor wanted =
      at::matmul(active, in_double(mlp.fc2.weight).t()) + in_double(mlp.fc2.bias);
  EXPECT_LE(largest_difference(mlp(x), wanted), 1e-6);
}

struct AttentionCase {
  std::int64_t queries, keys, size;
};

TEST(Attention, EqualsItsTwin) {
  for (const auto& [queries, keys, size] :
       {AttentionCase{1, 1, 8}, {7, 7, 16}, {53, 53, 64}, {5, 200, 64}, {200, 3, 32}}) {
    const at::Tensor q = at::randn({2, 3, queries, size}), k = at::randn({2, 3, keys, size}),
                     v = at::randn({2, 3, keys, size});
    const double scale = 1 / std::sqrt(double(size));
    const at::Tensor wanted = attention_reference(in_double(q), in_double(k), in_double(v), scale);
    EXPECT_LE(largest_difference(attention(q, k, v, scale), wanted), 2e-6)
        << queries << " " << keys;
    EXPECT_LE(largest_difference(attention_reference(q, k, v, scale), wanted), 2e-6);
    EXPECT_LE(largest_difference(
                  attention(q, k, v, 2 * scale),
                  attention_reference(in_double(q), in_double(k), in_double(v), 2 * scale)),
              4e-6);
  }
}

TEST(Attention, IsAMeanOfTheValuesWeightedByLikeness) {
  // One query, equally like the first two keys and unlike the third.
  const at::Tensor q = at::tensor({1.0f, 0.0f}).view({1, 1, 1, 2});
  const at::Tensor k = at::tensor({1.0f, 5.0f, 1.0f, -5.0f, -60.0f, 0.0f}).view({1, 1, 3, 2});
  const at::Tensor v = at::tensor({2.0f, 0.0f, 4.0f, 8.0f, 100.0f, 100.0f}).view({1, 1, 3, 2});
  for (const auto& found : {attention(q, k, v, 1), attention_reference(q, k, v, 1)}) {
    EXPECT_NEAR(found.flatten()[0].item<double>(), 3, 1e-5);
    EXPECT_NEAR(found.flatten()[1].item<double>(), 4, 1e-5);
  }
}

TEST(Attention, OfViewsThatAreNotContiguous) {
  const at::Tensor qkv = at::randn({2, 20, 3, 4, 16}).permute({2, 0, 3, 1, 4});
  const at::Tensor found = attention(qkv[0], qkv[1], qkv[2], 0.25);
  const at::Tensor wanted =
      attention_reference(in_double(qkv[0]), in_double(qkv[1]), in_double(qkv[2]), 0.25);
  EXPECT_LE(largest_difference(found, wanted), 2e-6);
}

TEST(Attention, KeepsThePrecisionOfItsInput) {
  const at::Tensor q = at::randn({1, 2, 30, 16}), k = at::randn({1, 2, 30, 16}),
                   v = at::randn({1, 2, 30, 16});
  const at::Tensor wanted = attention_reference(in_double(q), in_double(k), in_double(v), 0.25);
  for (const auto& [type, allowed] : {std::pair{at::kBFloat16, 3e-2}, {at::kHalf, 4e-3}}) {
    const at::Tensor found = attention(q.to(type), k.to(type), v.to(type), 0.25);
    EXPECT_EQ(found.scalar_type(), type);
    EXPECT_LE(largest_difference(found, wanted), allowed);
  }
}

TEST(Heads, AreConsecutiveRunsOfAToken) {
  const at::Tensor x = at::arange(2 * 3 * 8, at::kFloat).view({2, 3, 8});
  const at::Tensor heads = split_heads(x, 4);
  ASSERT_EQ(heads.sizes(), (at::IntArrayRef{2, 4, 3, 2}));
  EXPECT_EQ(heads[1][3][2][0].item<float>(), x[1][2][6].item<float>());
  EXPECT_EQ(largest_difference(join_heads(heads), x), 0);
}

TEST(Rotary, TurnsPairsOfTheTwoHalves) {
  const at::Tensor angles = at::tensor({0.3f, -1.1f}).view({1, 2});
  const at::Tensor both = angles.repeat({1, 2});
  const at::Tensor x = at::tensor({1.0f, 2.0f, 3.0f, 4.0f}).view({1, 1, 1, 4});
  const at::Tensor found = rotate_halves(x, both.sin(), both.cos()).flatten();
  for (int i = 0; i < 2; ++i) {
    const double angle = angles[0][i].item<double>(), a = i + 1, b = i + 3;
    EXPECT_NEAR(found[i].item<double>(), a * std::cos(angle) - b * std::sin(angle), 1e-6);
    EXPECT_NEAR(found[i + 2].item<double>(), b * std::cos(angle) + a * std::sin(angle), 1e-6);
  }
}

TEST(Rotary, ProductsDependOnTheDifferenceOfAngles) {
  const at::Tensor q = at::randn({1, 1, 1, 8}), k = at::randn({1, 1, 1, 8});
  const auto turned = [](const at::Tensor& x, double angle) {
    const at::Tensor angles = at::full({1, 8}, angle);
    return rotate_halves(x, angles.sin(), angles.cos());
  };
  const auto product = [&](double angle_q, double angle_k) {
    return (turned(q, angle_q) * turned(k, angle_k)).sum().item<double>();
  };
  EXPECT_NEAR(product(0.9, 0.2), product(2.0, 1.3), 1e-5);
  EXPECT_GT(std::abs(product(0.9, 0.2) - product(0.9, 0.9)), 1e-3);
}

TEST(Rotary, AnAngleOfZeroChangesNothing) {
  const at::Tensor x = at::randn({2, 3, 5, 8});
  EXPECT_EQ(largest_difference(rotate_halves(x, at::zeros({5, 8}), at::ones({5, 8})), x), 0);
}

TEST(Rotary, ComputesInFullPrecisionAndReturnsTheInputs) {
  const at::Tensor x = at::randn({1, 2, 5, 8}).to(at::kBFloat16);
  const at::Tensor angles = at::randn({5, 4}).repeat({1, 2});
  const at::Tensor found = rotate_halves(x, angles.sin(), angles.cos());
  EXPECT_EQ(found.scalar_type(), at::kBFloat16);
  const at::Tensor wanted = rotate_halves(x.to(at::kFloat), angles.sin(), angles.cos());
  EXPECT_EQ(largest_difference(found, wanted.to(at::kBFloat16)), 0);
}

TEST(Layers, AreHeldInThePrecisionAskedFor) {
  const WeightReader weights = any_weights(Precision::bf16);
  EXPECT_EQ(Linear(weights, "a", 4, 4).weight.scalar_type(), at::kBFloat16);
  const at::Tensor x = at::randn({2, 4}).to(at::kBFloat16);
  EXPECT_EQ(Mlp(weights, "mlp", 4, 8)(x).scalar_type(), at::kBFloat16);
  EXPECT_EQ(LayerNorm(weights, "norm", 4, 1e-5)(x).scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace skyfix::nn
