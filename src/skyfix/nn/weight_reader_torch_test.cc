#include "skyfix/nn/weight_reader_torch.h"

#include <gmock/gmock.h>

#include <limits>

#include "skyfix/base/error.h"
#include "skyfix/memory/cuda_library.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_refusal.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix::nn {
namespace {

using skyfix::testing::MemoryTensors;
using skyfix::testing::refusal;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr NetworkPlacement kCpu{DeviceKind::cpu, Precision::fp32};

std::shared_ptr<MemoryTensors> tiny() {
  auto source = std::make_shared<MemoryTensors>();
  source->add("fc.weight", {2, 2}, {1, 2, 3, 4.5f});
  source->add("fc.bias", {2}, {5, 6});
  source->add("steps", ElementType::i64, {}, std::vector<std::int64_t>{7});
  return source;
}

TEST(WeightReader, EverythingAskedForByNameAndShapeIsFine) {
  const WeightReader weights(tiny(), kCpu);
  const WeightReader fc = weights.under("fc");
  EXPECT_TRUE(
      at::equal(fc.get("weight", {2, 2}), at::tensor({1.0f, 2.0f, 3.0f, 4.5f}).view({2, 2})));
  EXPECT_TRUE(at::equal(fc.get("bias", {2}), at::tensor({5.0f, 6.0f})));
  EXPECT_TRUE(fc.has("bias"));
  EXPECT_FALSE(fc.has("steps"));
  EXPECT_EQ(weights.get("steps", {}).item<std::int64_t>(), 7);
  EXPECT_FALSE(weights.find("other", {9}).defined());
  EXPECT_EQ(fc.figures().tensors, 3);
  EXPECT_EQ(weights.figures().values, 4 + 2 + 1);
  weights.finish("tiny");
}

TEST(WeightReader, IsACopyInThePrecisionAskedFor) {
  const auto source = tiny();
  const WeightReader weights(source, {DeviceKind::cpu, Precision::bf16});
  const at::Tensor weight = weights.get("fc.weight", {2, 2});
  EXPECT_EQ(weight.scalar_type(), at::kBFloat16);
  EXPECT_EQ(weight[1][1].item<float>(), 4.5f);
  EXPECT_EQ(weights.get_fp32("fc.bias", {2}).scalar_type(), at::kFloat);
  EXPECT_EQ(weights.in(Precision::fp16).get("fc.bias", {2}).scalar_type(), at::kHalf);
  EXPECT_EQ(weights.get("steps", {}).scalar_type(), at::kLong);
  // In the same precision too: the file may be unmapped.
  const at::Tensor same = WeightReader(source, kCpu).get("fc.weight", {2, 2});
  EXPECT_NE(same.data_ptr(), source->find("fc.weight")->bytes.data());
  weights.finish("tiny");
}

TEST(WeightReader, ReadsEveryStoredFloatAndUnalignedBytes) {
  auto source = std::make_shared<MemoryTensors>();
  source->add("half", ElementType::f16, {2}, std::vector<std::uint16_t>{0x3c00, 0xc000});
  source->add("brain", ElementType::bf16, {2}, std::vector<std::uint16_t>{0x3f80, 0xc000});
  source->add("double", ElementType::f64, {2}, std::vector<double>{1, -2});
  const WeightReader weights(source, kCpu);
  for (const char* name : {"half", "brain", "double"}) {
    EXPECT_TRUE(at::equal(weights.get(name, {2}), at::tensor({1.0f, -2.0f}))) << name;
  }
  // A view that begins at an odd byte.
  class Shifted : public MemoryTensors {
   public:
    Shifted() {
      std::memcpy(bytes_ + 1, std::data({1.0f, -2.0f}), 8);
      tensor_.bytes = std::span(bytes_).subspan(1, 8);
    }
    const StoredTensor* find(std::string_view) const override { return &tensor_; }

   private:
    alignas(8) std::byte bytes_[16];
    StoredTensor tensor_{"t", ElementType::f32, {2}, {}};
  };
  EXPECT_TRUE(at::equal(WeightReader(std::make_shared<Shifted>(), kCpu).get("t", {2}),
                        at::tensor({1.0f, -2.0f})));
}

TEST(WeightReader, ListsMissingMisshapedAndExtraTensorsTogether) {
  const WeightReader weights(tiny(), kCpu);
  // Zeros of the asked shape stand in, so that a model can be built to its end.
  EXPECT_TRUE(at::equal(weights.get("fc.weight", {3, 2}), at::zeros({3, 2})));
  EXPECT_TRUE(at::equal(weights.get("norm.weight", {4}), at::zeros({4})));
  const std::string message = refusal([&] { weights.finish("tiny"); });
  EXPECT_THAT(message, AllOf(HasSubstr("not usable weights of tiny"),
                             HasSubstr("1 tensors are missing: norm.weight"),
                             HasSubstr("fc.weight is [2, 2], not [3, 2]"),
                             HasSubstr("2 tensors do not belong to it: fc.bias, steps")));
}

TEST(WeightReader, ListsNoMoreThanTwentyNames) {
  const WeightReader weights(std::make_shared<MemoryTensors>(), kCpu);
  for (int i = 0; i < 25; ++i) weights.get("t" + std::to_string(i), {1});
  const std::string message = refusal([&] { weights.finish("tiny"); });
  EXPECT_THAT(message, AllOf(HasSubstr("25 tensors are missing"), HasSubstr("t19, ..."),
                             Not(HasSubstr("t20"))));
}

TEST(WeightReader, RefusesNanAndInfiniteValues) {
  auto source = tiny();
  source->add("nan", {2}, {0, std::numeric_limits<float>::quiet_NaN()});
  source->add("inf", ElementType::f16, {1}, std::vector<std::uint16_t>{0x7c00});
  const WeightReader weights(source, kCpu);
  weights.skip_under("fc.");
  weights.skip("steps");
  weights.get("nan", {2});
  weights.get("inf", {1});
  EXPECT_THAT(refusal([&] { weights.finish("tiny"); }),
              HasSubstr("2 tensors hold NaN or infinite values: nan, inf"));
}

TEST(WeightReader, WhatIsOptionalOrSkippedIsNoComplaint) {
  const WeightReader weights(tiny(), kCpu);
  EXPECT_FALSE(weights.find("absent", {1}).defined());
  EXPECT_TRUE(weights.find("fc.bias", {2}).defined());
  weights.skip("fc.weight");
  weights.skip("also absent");
  weights.skip_under("ste");
  weights.finish("tiny");
  // Present and of another shape is a complaint all the same.
  const WeightReader again(tiny(), kCpu);
  again.skip_under("");
  again.find("fc.bias", {3});
  EXPECT_THAT(refusal([&] { again.finish("tiny"); }), HasSubstr("another shape"));
}

TEST(WeightReader, SyntheticWeightsAreMadeByFullName) {
  const WeightReader weights(make_synthetic_source(), kCpu);
  EXPECT_TRUE(weights.synthetic());
  EXPECT_FALSE(weights.has("fc.weight"));
  const at::Tensor made = weights.under("fc").get("weight", {4, 3});
  std::vector<float> expected(12);
  fill_synthetic("fc.weight", std::vector<std::int64_t>{4, 3}, expected);
  EXPECT_TRUE(at::equal(made.flatten(), at::tensor(expected)));
  // What the rules leave as the architecture defines it.
  EXPECT_FALSE(weights.find("rope.periods", {16}).defined());
  EXPECT_EQ(weights.figures().tensors, 1);
  EXPECT_EQ(weights.figures().values, 12);
  EXPECT_TRUE(at::equal(weights.get("bn.num_batches_tracked", {}), at::zeros({})));
  weights.finish("tiny");
}

TEST(WeightReader, GpuWeightsLieOnTheGpu) {
  if (!why_no_gpu().empty()) GTEST_SKIP() << why_no_gpu();
  const WeightReader weights(tiny(), {DeviceKind::cuda, Precision::bf16});
  const at::Tensor weight = weights.get("fc.weight", {2, 2});
  EXPECT_TRUE(weight.is_cuda());
  EXPECT_EQ(weight.cpu()[1][1].item<float>(), 4.5f);
}

}  // namespace
}  // namespace skyfix::nn
