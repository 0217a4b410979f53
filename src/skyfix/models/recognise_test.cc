#include "skyfix/models/recognise.h"

#include <gmock/gmock.h>

#include "skyfix/models/weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MemoryTensors;

// Shapes without content: only they are looked at.
struct Shapes : MemoryTensors {
  Shapes& with(const std::string& name, const std::vector<std::int64_t>& shape) {
    add(name, shape, {});
    return *this;
  }
};

TEST(Recognise, TellsModelsByNamesAndShapes) {
  EXPECT_THAT(models_with_tensors(Shapes()
                                      .with("keypoint_head.3.weight", {65, 64, 1, 1})
                                      .with("heatmap_head.2.weight", {1, 64, 1, 1})),
              ElementsAre("xfeat"));
  EXPECT_THAT(models_with_tensors(Shapes().with("matcher.input_proj.weight", {96, 64})),
              ElementsAre("lighterglue"));
  EXPECT_THAT(models_with_tensors(Shapes()
                                      .with("input_proj.weight", {256, 128})
                                      .with("transformers.0.self_attn.Wqkv.weight", {768, 256})),
              ElementsAre("lightglue-aliked"));
  EXPECT_THAT(models_with_tensors(Shapes()
                                      .with("desc_head.agg_weights", {16, 128, 128})
                                      .with("score_head.6.weight", {1, 4, 3, 3})),
              ElementsAre("aliked-n16rot", "aliked-n16"));
  EXPECT_THAT(
      models_with_tensors(Shapes()
                              .with("downstream_head1.head_local_features.fc1.weight", {224, 56})
                              .with("dec_blocks.0.cross_attn.projq.weight", {24, 24})),
      ElementsAre("mast3r"));
}

TEST(Recognise, TellsTheStreamingModel) {
  EXPECT_THAT(models_with_tensors(Shapes()
                                      .with("aggregator.camera_token", {1, 2, 1, 1024})
                                      .with("camera_head.empty_pose_tokens", {1, 1, 9})),
              ElementsAre("gct"));
}

TEST(Recognise, TellsAPublishedFileByItsDigest) {
  EXPECT_EQ(model_with_digest(known_model("aliked-n16rot").sha256), "aliked-n16rot");
  EXPECT_EQ(model_with_digest(""), "");  // several models have none published
  EXPECT_EQ(model_with_digest(std::string(64, '0')), "");
}

TEST(Recognise, OtherTensorsAreOfNoKnownModel) {
  EXPECT_THAT(models_with_tensors(Shapes()), IsEmpty());
  EXPECT_THAT(models_with_tensors(Shapes().with("fc.weight", {2, 2})), IsEmpty());
  // ALIKED with 32 samples, LightGlue of another file layout.
  EXPECT_THAT(models_with_tensors(Shapes()
                                      .with("desc_head.agg_weights", {32, 128, 128})
                                      .with("score_head.6.weight", {1, 4, 3, 3})),
              IsEmpty());
  EXPECT_THAT(models_with_tensors(Shapes().with("input_proj.weight", {256, 128})), IsEmpty());
  EXPECT_THAT(models_with_tensors(Shapes().with("cls_token", {1, 1, 384})), IsEmpty());
}

}  // namespace
}  // namespace skyfix
