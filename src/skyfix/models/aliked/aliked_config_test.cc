#include "skyfix/models/aliked/aliked_config.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::aliked {
namespace {

class Shapes final : public TensorSource {
 public:
  explicit Shapes(std::map<std::string, std::vector<std::int64_t>> shapes) {
    for (auto& [name, shape] : shapes) tensors_[name] = {name, ElementType::f32, shape, {}};
  }
  std::string description() const override { return "shapes"; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(std::string(name));
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override { return {}; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string hash() const override { return ""; }

 private:
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

TEST(AlikedConfig, FollowsTheShapesOfTheWeights) {
  const Config t16 = Config::of(Shapes({{"block1.conv1.weight", {8, 3, 3, 3}},
                                        {"block2.conv1.weight", {16, 8, 3, 3}},
                                        {"block3.conv1.regular_conv.weight", {32, 16, 3, 3}},
                                        {"block4.conv1.regular_conv.weight", {64, 32, 3, 3}},
                                        {"conv1.weight", {16, 8, 1, 1}},
                                        {"desc_head.agg_weights", {32, 64, 64}}}));
  EXPECT_EQ(t16.c1, 8);
  EXPECT_EQ(t16.c2, 16);
  EXPECT_EQ(t16.c3, 32);
  EXPECT_EQ(t16.c4, 64);
  EXPECT_EQ(t16.dimension, 64);
  EXPECT_EQ(t16.samples, 32);
}

TEST(AlikedConfig, IsN16WhereShapesSayNothing) {
  const Shapes scalar(std::map<std::string, std::vector<std::int64_t>>{{"conv1.weight", {}}});
  for (const Config& config : {Config::of(scalar), Config::of(*make_synthetic_source())}) {
    EXPECT_EQ(config.c1, 16);
    EXPECT_EQ(config.dimension, 128);
    EXPECT_EQ(config.samples, 16);
  }
}

}  // namespace
}  // namespace skyfix::aliked
