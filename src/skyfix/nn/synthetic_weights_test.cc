#include "skyfix/nn/synthetic_weights.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

#include "skyfix/base/parallel.h"

namespace skyfix {
namespace {

using testing::ElementsAreArray;

std::vector<float> filled(std::string_view name, const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  std::vector<float> values(count, std::nanf(""));
  EXPECT_TRUE(fill_synthetic(name, shape, values));
  return values;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

struct Vector {
  const char* name;
  std::vector<std::int64_t> shape;
  std::uint64_t key;
  std::vector<std::uint32_t> first;
};

class SyntheticVectors : public testing::TestWithParam<Vector> {};

// The specification's test vectors: the key and the first four values.
TEST_P(SyntheticVectors, AreReproducedToTheBit) {
  const Vector& vector = GetParam();
  EXPECT_EQ(synthetic_key(vector.name), vector.key);
  const std::vector<float> values = filled(vector.name, vector.shape);
  std::vector<std::uint32_t> first;
  for (int i = 0; i < 4; ++i) first.push_back(bits(values[i]));
  EXPECT_THAT(first, ElementsAreArray(vector.first));
}

INSTANTIATE_TEST_SUITE_P(Specification, SyntheticVectors,
                         testing::Values(Vector{"aggregator.frame_blocks.0.attn.qkv.weight",
                                                {3072, 1024},
                                                0x02277114c629dd3d,
                                                {0x3cb4c329, 0xbc6b4d8f, 0x3c9f7eb7, 0xbcc3300b}},
                                         Vector{"aggregator.camera_token",
                                                {1, 2, 1, 1024},
                                                0x13d66c4a392db57b,
                                                {0xbb52e500, 0x3d9d41c8, 0x3e303e7c, 0xbe9b9de2}},
                                         Vector{"aggregator.global_blocks.23.ls2.gamma",
                                                {1024},
                                                0xd6f66c1515c6165d,
                                                {0x3d825743, 0x3e09b3e4, 0x3d9e64ee, 0x3e2699b8}},
                                         Vector{"camera_head.pose_branch.fc2.bias",
                                                {9},
                                                0xc3d8d0e79f1ad313,
                                                {0xbab77620, 0xbc05fbd0, 0xbb9bc184, 0x3b171c18}},
                                         Vector{"depth_head.resize_layers.0.weight",
                                                {256, 256, 4, 4},
                                                0x7ef16b3d6d3ddcd8,
                                                {0x3c261c3a, 0x3dd3a585, 0xbddb24cd, 0xbd585bc7}},
                                         Vector{"depth_head.scratch.output_conv2.2.weight",
                                                {2, 32, 1, 1},
                                                0x5a2c655fc3e318ff,
                                                {0xb98b1aaf, 0x3d9af3eb, 0x3db59ff0, 0xbdfde1f6}},
                                         Vector{"camera_head.pose_branch.fc2.weight",
                                                {9, 1024},
                                                0x3cfef0ffbabbfd86,
                                                {0x3bb47aa1, 0x3bd564a5, 0xbb4a0cf3, 0xbb43c938}}));

TEST(SyntheticWeights, TheLastElementDependsOnItsIndexOnly) {
  const std::vector<float> values =
      filled("aggregator.frame_blocks.0.attn.qkv.weight", {3072, 1024});
  EXPECT_EQ(bits(values.at(3145727)), 0x3c2b3cdau);
  set_thread_count(1);
  EXPECT_EQ(filled("aggregator.frame_blocks.0.attn.qkv.weight", {3072, 1024}), values);
  set_thread_count(0);
}

TEST(SyntheticWeights, ThePoseHeadsBiasIsCentredOnItsFieldOfView) {
  const std::vector<float> values = filled("camera_head.pose_branch.fc2.bias", {9});
  for (int i = 0; i < 9; ++i) EXPECT_NEAR(values[i], i < 6 ? 0 : 0.25, 0x1p-6) << i;
  // Another size follows the rule for biases.
  EXPECT_NEAR(filled("pose_branch.fc2.bias", {8})[7], 0, 0x1p-5);
}

// The least and the largest of a tensor's values lie near its centre -+ scale.
void expect_range(std::string_view name, const std::vector<std::int64_t>& shape, double centre,
                  double scale) {
  const std::vector<float> values = filled(name, shape);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, centre - scale) << name;
  EXPECT_LE(*most, centre + scale) << name;
  EXPECT_LT(*least, centre - 0.8 * scale) << name;
  EXPECT_GT(*most, centre + 0.8 * scale) << name;
}

TEST(SyntheticWeights, EachRuleHasItsCentreAndScale) {
  expect_range("blocks.0.ls1.gamma", {500}, 0.125, 0.0625);
  expect_range("bn.running_var", {500}, 1, 0.125);
  expect_range("bn.running_mean", {500}, 0, 0x1p-5);
  expect_range("fc.bias", {10, 50}, 0, 0x1p-5);
  expect_range("mask_token", {1, 500}, 0, 0.5);
  expect_range("a.storage_tokens", {1, 4, 200}, 0, 0.5);
  expect_range("pos_embed", {500}, 0, 0.5);
  expect_range("norm.weight", {500}, 1, 0.125);
  expect_range("something", {500}, 0, 0x1p-5);
  expect_range("fc.weight", {100, 12}, 0, 0.5);
  expect_range("conv.weight", {16, 3, 4, 4}, 0, 0.25);
  expect_range("act_postprocess.1.1.weight", {12, 16, 4, 4}, 0, 0.5);
  expect_range("x.dpt.head.4.weight", {4, 48, 5, 5}, 0, 0.5 * std::sqrt(3.0 / 1200));
  // No underscore before "token": a matrix like any other.
  expect_range("mytoken", {100, 12}, 0, 0.5);
}

TEST(SyntheticWeights, LeavesWhatTheArchitectureDefines) {
  for (const char* name : {"rope_embed.periods", "qkv.bias_mask", "bn.num_batches_tracked"}) {
    std::vector<float> values(3, 7.0f);
    const std::int64_t shape[] = {3};
    EXPECT_FALSE(fill_synthetic(name, shape, values)) << name;
    EXPECT_THAT(values, testing::Each(7.0f));
  }
}

TEST(SyntheticWeights, TheSourceKnowsNoTensorByName) {
  const auto source = make_synthetic_source();
  EXPECT_TRUE(source->synthetic());
  EXPECT_EQ(source->find("fc.weight"), nullptr);
  EXPECT_THAT(source->names(), testing::IsEmpty());
  EXPECT_EQ(source->hash(), "synthetic");
}

}  // namespace
}  // namespace skyfix
