#include "skyfix/nn/dpt_torch.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix::nn {
namespace {

using ::testing::HasSubstr;

// Tensors of a fusion block's names, of small random values.
class FusionWeights : public testing::MemoryTensors {
 public:
  explicit FusionWeights(const DptFusionShape& shape) {
    const std::int64_t width = shape.width;
    for (int level = 1; level <= 4; ++level) {
      const std::string block = "refinenet" + std::to_string(level);
      put("layer" + std::to_string(level) + "_rn.weight", {width, shape.widths[level - 1], 3, 3});
      put(block + ".out_conv.weight", {width, width, 1, 1});
      put(block + ".out_conv.bias", {width});
      for (const std::string unit : {".resConfUnit1", ".resConfUnit2"}) {
        for (const std::string conv : {".conv1", ".conv2"}) {
          put(block + unit + conv + ".weight", {width, width, 3, 3});
          put(block + unit + conv + ".bias", {width});
        }
      }
    }
  }
  void put(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::vector<float> values(StoredTensor{name, ElementType::f32, shape, {}}.elements());
    fill_synthetic(name, shape, values);
    add(name, shape, values);
  }
  void copy(const std::string& name, const std::string& other) {
    const at::Tensor values = value(name);
    add(other, find(name)->shape,
        {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()});
  }
  at::Tensor value(const std::string& name) const {
    const StoredTensor& tensor = *find(name);
    return at::from_blob(const_cast<std::byte*>(tensor.bytes.data()), tensor.shape, at::kFloat)
        .clone();
  }
};

const DptFusionShape kShape{.widths = {3, 4, 5, 6}, .width = 8};

// Of a grid of 3 x 5 patches: odd, so that the coarsest level is larger than half.
std::array<at::Tensor, 4> pyramid() {
  at::manual_seed(1);
  return {at::randn({2, 3, 12, 20}), at::randn({2, 4, 6, 10}), at::randn({2, 5, 3, 5}),
          at::randn({2, 6, 2, 3})};
}

DptFusion read(const std::shared_ptr<FusionWeights>& weights,
               const DptFusionShape& shape = kShape) {
  const WeightReader reader(weights, {});
  DptFusion fusion(reader, shape);
  reader.finish("a fusion");
  return fusion;
}

at::Tensor fused(const std::shared_ptr<FusionWeights>& weights,
                 const DptFusionShape& shape = kShape) {
  return read(weights, shape)(pyramid());
}

// The head written down once more, without sharing: the formulas of the two specifications.
at::Tensor written_down(const FusionWeights& w, const DptFusionShape& shape) {
  const auto conv = [&](const std::string& name, const at::Tensor& x) {
    return at::conv2d(x, w.value(name + ".weight"), w.value(name + ".bias"), 1,
                      w.value(name + ".weight").size(2) / 2);
  };
  const auto unit = [&](const std::string& name, const at::Tensor& x) {
    return conv(name + ".conv2", at::relu(conv(name + ".conv1", at::relu(x)))) +
           (shape.rectified_skip ? at::relu(x) : x);
  };
  const auto level = [&](int n) {
    return at::conv2d(pyramid()[n - 1], w.value("layer" + std::to_string(n) + "_rn.weight"), {}, 1,
                      1);
  };
  at::Tensor x;
  for (int n = 4; n >= 1; --n) {
    const std::string block = "refinenet" + std::to_string(n);
    x = n == 4 ? level(4) : x + unit(block + ".resConfUnit1", level(n));
    x = unit(block + ".resConfUnit2", x);
    const std::int64_t height = n > 1 ? level(n - 1).size(2) : 24;
    const std::int64_t width = n > 1 ? level(n - 1).size(3) : 40;
    const bool exact = !shape.double_and_crop;
    x = resize_corners(x, exact ? height : 2 * x.size(2), exact ? width : 2 * x.size(3));
    x = conv(block + ".out_conv", x).slice(2, 0, height).slice(3, 0, width);
  }
  return x;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes().equals(b.sizes()) ? (a - b).abs().max().item<double>() : 1e30;
}

TEST(ResizeCorners, KeepsCornersOnCorners) {
  const at::Tensor x = at::tensor({0.f, 3.f}).view({1, 1, 1, 2});
  const at::Tensor found = resize_corners(x, 2, 4);
  EXPECT_LT(
      difference(found, at::tensor({0.f, 1.f, 2.f, 3.f, 0.f, 1.f, 2.f, 3.f}).view({1, 1, 2, 4})),
      1e-6);
}

TEST(DptFusionTest, FollowsTheFormulas) {
  const auto weights = std::make_shared<FusionWeights>(kShape);
  for (const bool rectified : {false, true}) {
    for (const bool cut : {false, true}) {
      DptFusionShape shape = kShape;
      shape.rectified_skip = rectified;
      shape.double_and_crop = cut;
      EXPECT_LT(difference(fused(weights, shape), written_down(*weights, shape)), 1e-5)
          << rectified << cut;
    }
  }
}

TEST(DptFusionTest, KeepsTheVariantsApart) {
  const auto weights = std::make_shared<FusionWeights>(kShape);
  DptFusionShape rectified = kShape, exact = kShape;
  rectified.rectified_skip = true;
  exact.double_and_crop = false;
  EXPECT_GT(difference(fused(weights), fused(weights, rectified)), 1e-2);
  EXPECT_GT(difference(fused(weights), fused(weights, exact)), 1e-2);
}

TEST(DptFusionTest, TakesEitherNameOfALevelOrBoth) {
  const auto weights = std::make_shared<FusionWeights>(kShape);
  const at::Tensor plain = fused(weights);
  weights->copy("layer1_rn.weight", "layer_rn.0.weight");
  EXPECT_EQ(difference(fused(weights), plain), 0);
  for (int level = 0; level < 4; ++level) {
    weights->rename("layer" + std::to_string(level + 1) + "_rn.weight",
                    "layer_rn." + std::to_string(level) + ".weight");
  }
  EXPECT_EQ(difference(fused(weights), plain), 0);
}

TEST(DptFusionTest, DoesWithoutTheUnitThatIsNotUsed) {
  const auto weights = std::make_shared<FusionWeights>(kShape);
  const at::Tensor plain = fused(weights);
  for (const std::string conv : {"conv1", "conv2"}) {
    weights->erase("refinenet4.resConfUnit1." + conv + ".weight");
    weights->erase("refinenet4.resConfUnit1." + conv + ".bias");
  }
  EXPECT_EQ(difference(fused(weights), plain), 0);
}

TEST(DptFusionTest, NamesWhatIsMissing) {
  const auto weights = std::make_shared<FusionWeights>(kShape);
  weights->erase("refinenet2.resConfUnit1.conv2.bias");
  weights->erase("layer3_rn.weight");
  try {
    read(weights);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_THAT(error.what(), HasSubstr("refinenet2.resConfUnit1.conv2.bias"));
    EXPECT_THAT(error.what(), HasSubstr("layer3_rn.weight"));
  }
}

TEST(DptPyramidTest, GivesEachLevelItsSize) {
  const WeightReader reader(make_synthetic_source(), {});
  const DptPyramid pyramid(reader, {"a", "b", "c"}, {3, 4, 5, 6});
  const std::int64_t widths[] = {3, 4, 5, 6}, heights[] = {12, 6, 3, 2}, sides[] = {20, 10, 5, 3};
  for (int level = 0; level < 4; ++level) {
    const at::Tensor map = pyramid(at::ones({2, widths[level], 3, 5}), level);
    EXPECT_TRUE(map.sizes().equals({2, widths[level], heights[level], sides[level]})) << level;
  }
}

}  // namespace
}  // namespace skyfix::nn
