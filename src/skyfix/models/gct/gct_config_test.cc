#include "skyfix/models/gct/gct_config.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {
using ::testing::HasSubstr;

// Only the tensors that tell a size, empty of values.
class Shapes : public TensorSource {
 public:
  explicit Shapes(const GctConfig& config) {
    const std::string encoder = "aggregator.patch_embed.";
    add("aggregator.camera_token", {1, 2, 1, config.width});
    add("aggregator.register_token", {1, 2, config.register_tokens, config.width});
    add(encoder + "patch_embed.proj.weight", {config.width, 3, config.patch_px, config.patch_px});
    add(encoder + "pos_embed", {1, 1 + config.position_grid * config.position_grid, config.width});
    add("depth_head.scratch.output_conv1.weight",
        {config.dense_final[0], config.dense_features, 3, 3});
    blocks(encoder + "blocks", config.encoder_blocks);
    blocks("aggregator.frame_blocks", config.pairs);
    blocks("aggregator.global_blocks", config.pairs);
    blocks("camera_head.trunk", config.camera_blocks);
    if (config.point_head) add("point_head.norm.weight", {2 * config.width});
  }
  void add(const std::string& name, std::vector<std::int64_t> shape) {
    tensors_[name] = {name, ElementType::f32, std::move(shape), {}};
  }
  std::string description() const override { return "shapes"; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override { return {}; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string hash() const override { return "shapes"; }

 private:
  void blocks(const std::string& name, int count) {
    for (int i = 0; i < count; ++i) add(name + "." + std::to_string(i) + ".norm1.weight", {1});
  }
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

TEST(GctConfig, IsToldByShapes) {
  for (GctConfig config : {gct_official(), gct_tiny()}) {
    for (const bool points : {false, true}) {
      config.point_head = points;
      EXPECT_EQ(gct_config_of(Shapes(config)), config);
    }
  }
}

std::string refusal(const TensorSource& source) {
  try {
    gct_config_of(source);
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    return error.what();
  }
  return "";
}

TEST(GctConfig, OtherModelsAndSizesAreRefusedInASentence) {
  EXPECT_THAT(refusal(testing::MemoryTensors()), HasSubstr("not weights of LingBot-Map's GCT"));
  GctConfig deeper = gct_official();
  deeper.pairs = 30;
  EXPECT_THAT(refusal(Shapes(deeper)), HasSubstr("frame blocks: 30, not 24"));
  GctConfig wider = gct_official();
  wider.width = 1536;
  EXPECT_THAT(refusal(Shapes(wider)), HasSubstr("1536"));
  Shapes odd(gct_official());
  odd.add("aggregator.camera_token", {1024});
  EXPECT_THAT(refusal(odd), HasSubstr("[1024]"));
}

}  // namespace
}  // namespace skyfix
