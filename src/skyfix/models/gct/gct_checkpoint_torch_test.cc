// The network's own ways: files it reads, stages it names, options it refuses.
#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/models/gct/testing_memory_torch.h"
#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_archive.h"
#include "skyfix/nn/testing_refusal.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix::gct {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr NaivePolicy kOneFrame{.scale_frames = 1, .reserved = 2, .window = 3};

class GctCheckpoint : public Goldens {
 protected:
  // The tiny weights as PyTorch writes them: the state dict, or a dict that has it under `key`.
  static std::string checkpoint(const TensorSource& weights, const std::string& key) {
    testing::PickleWriter pickle;
    std::map<std::string, std::string> storages;
    if (!key.empty()) pickle.add("}").text(key);
    pickle.add("}(");
    for (const std::string& name : weights.names()) {
      const StoredTensor& tensor = *weights.find(name);
      const std::string storage = std::to_string(storages.size());
      pickle.text(name).tensor("FloatStorage", storage, tensor.elements(), tensor.shape);
      const auto* first = reinterpret_cast<const char*>(tensor.bytes.data());
      storages[storage] = std::string(first, tensor.bytes.size());
    }
    pickle.add("u");
    if (!key.empty()) pickle.add("s");
    return testing::make_torch_file(pickle.stop(), storages);
  }

  static std::shared_ptr<testing::MemoryTensors> changed(const TensorSource& weights) {
    auto copy = std::make_shared<testing::MemoryTensors>();
    copy->add_all(weights);
    return copy;
  }

  void expect_depth(const GctNetwork& network) {
    const GctOutput found = NaiveStream(network, kOneFrame).run(tiny_images(1)).output;
    expect_golden(found.depth, "out.depth");
    expect_golden(found.pose, "out.pose_enc");
  }
};

TEST_F(GctCheckpoint, IsReadWithAndWithoutTheKeyModel) {
  if (!open("tiny_weights") || !open("tiny_single")) return;
  const auto weights = open_tensor_file(golden_file("tiny_weights"));
  for (const std::string key : {"", "model"}) {
    const std::string bytes = checkpoint(*weights, key);
    const auto file = open_tensor_bytes(testing::as_bytes(bytes), "tiny.pt");
    const GctConfig config = gct_config_of(*file);
    EXPECT_TRUE(config.point_head);
    const GctNetwork network(file, config, {});
    EXPECT_EQ(network.weights().tensors, 384 - 62 - 1);  // no point head, no mask token
    EXPECT_EQ(network.weights_hash(), file->hash());
    expect_depth(network);
  }
}

TEST_F(GctCheckpoint, AskingForAPointHeadThatIsNotThereSaysSo) {
  if (!open("tiny_weights") || !open("tiny_single")) return;
  const auto all = open_tensor_file(golden_file("tiny_weights"));
  const auto weights = changed(*all);
  weights->erase("aggregator.patch_embed.mask_token");
  for (const std::string& name : all->names()) {
    if (name.starts_with("point_head.")) weights->erase(name);
  }
  EXPECT_FALSE(gct_config_of(*weights).point_head);
  expect_depth(GctNetwork(weights, gct_config_of(*weights), {}));
  GctOptions options;
  options.point_head = true;
  EXPECT_THAT(testing::refusal([&] { GctNetwork(weights, gct_tiny(), options); }),
              HasSubstr("62 tensors are missing: point_head."));
}

TEST_F(GctCheckpoint, NamesWhatDoesNotFit) {
  if (!open("tiny_weights")) return;
  const auto all = open_tensor_file(golden_file("tiny_weights"));
  const auto weights = changed(*all);
  weights->erase("camera_head.trunk.1.ls2.gamma");
  weights->add_filled("aggregator.frame_blocks.2.attn.k_norm.bias", {64}, 0);
  weights->add_filled("aggregator.frame_blocks.5.norm1.weight", {64}, 1);
  EXPECT_THAT(testing::refusal([&] { GctNetwork(weights, gct_tiny(), {}); }),
              AllOf(HasSubstr("LingBot-Map"), HasSubstr("camera_head.trunk.1.ls2.gamma"),
                    HasSubstr("k_norm.bias is [64], not [32]"),
                    HasSubstr("aggregator.frame_blocks.5.norm1.weight"),
                    Not(HasSubstr("point_head")), Not(HasSubstr("mask_token"))));
}

TEST(GctOptionsTest, NothingAtAllIsRefused) {
  GctOptions none;
  none.camera_iterations = 0;
  EXPECT_THROW(GctNetwork(make_synthetic_source(), gct_tiny(), none), Error);
  none = {};
  none.frames_at_once = 0;
  EXPECT_THROW(GctNetwork(make_synthetic_source(), gct_tiny(), none), Error);
}

TEST_F(GctCheckpoint, RunIsItsStagesInOrder) {
  if (!open("tiny_single")) return;
  GctOptions options;
  options.point_head = true;
  const GctNetwork network(make_synthetic_source(), gct_tiny(), options);
  NaiveMemory memory(kOneFrame, 6);
  memory.begin(1, true);
  std::vector<GctStage> stages;
  const GctOutput found = network.run(tiny_images(1), {0, 1, 0}, memory,
                                      [&](GctStage stage) { stages.push_back(stage); });
  std::vector<GctStage> wanted{GctStage::encoder};
  for (int pair = 0; pair < 5; ++pair) {
    wanted.insert(wanted.end(), {GctStage::frame_block, GctStage::global_block});
  }
  wanted.insert(wanted.end(),
                {GctStage::camera_head, GctStage::depth_head, GctStage::point_head, GctStage::end});
  EXPECT_THAT(stages, ElementsAreArray(wanted));
  expect_golden(found.pose, "out.pose_enc");
  expect_golden(found.depth, "out.depth");
  expect_golden(found.depth_confidence, "out.depth_conf");
  expect_golden(found.points, "out.world_points");
  expect_golden(found.points_confidence, "out.world_points_conf");
  EXPECT_TRUE(found.pose.sizes().equals({1, 9}));
  EXPECT_TRUE(found.depth.sizes().equals({1, 56, 70}));
  EXPECT_TRUE(found.points.sizes().equals({1, 56, 70, 3}));
}

// Weights in bf16, heads in what they are asked for; results in fp32 always.
TEST_F(GctCheckpoint, HalfHeadsStayNearToo) {
  if (!open("tiny_single")) return;
  GctOptions options;
  options.placement.precision = Precision::bf16;
  options.heads = Precision::bf16;
  const GctNetwork network(make_synthetic_source(), gct_tiny(), options);
  const GctOutput found = NaiveStream(network, kOneFrame).run(tiny_images(1)).output;
  EXPECT_EQ(found.depth.scalar_type(), at::kFloat);
  EXPECT_FALSE(found.points.defined());
  const at::Tensor depth = golden("out.depth").flatten();
  EXPECT_LT(((found.depth.flatten() - depth) / depth).abs().max().item<double>(), 0.05);
  EXPECT_LT((found.pose - golden("out.pose_enc")[0]).abs().max().item<double>(), 0.03);
}

}  // namespace
}  // namespace skyfix::gct
