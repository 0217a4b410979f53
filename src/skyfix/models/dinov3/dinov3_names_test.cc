#include "skyfix/models/dinov3/dinov3_names.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/models/dinov3/testing.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {

using testing::MemoryTensors;

using ::testing::HasSubstr;

MemoryTensors source_with(const std::vector<std::string>& names) {
  MemoryTensors source;
  for (const std::string& name : names) source.add(name, {1}, {0});
  return source;
}

TEST(DinoV3Names, OfficialNamesStayAsTheyAre) {
  const DinoV3Names names(source_with({"cls_token"}));
  EXPECT_EQ(names.layout(), DinoV3Names::Layout::official);
  EXPECT_EQ(names("blocks.11.attn.proj.weight"), "blocks.11.attn.proj.weight");
  EXPECT_EQ(names("storage_tokens"), "storage_tokens");
}

TEST(DinoV3Names, SyntheticWeightsHaveOfficialNames) {
  EXPECT_EQ(DinoV3Names(*make_synthetic_source()).layout(), DinoV3Names::Layout::official);
}

TEST(DinoV3Names, HuggingFaceNames) {
  const DinoV3Names names(source_with({"embeddings.cls_token", "layer.0.norm1.weight"}));
  EXPECT_EQ(names.layout(), DinoV3Names::Layout::hugging_face);
  EXPECT_EQ(names("cls_token"), "embeddings.cls_token");
  EXPECT_EQ(names("storage_tokens"), "embeddings.register_tokens");
  EXPECT_EQ(names("mask_token"), "embeddings.mask_token");
  EXPECT_EQ(names("patch_embed.proj.weight"), "embeddings.patch_embeddings.weight");
  EXPECT_EQ(names("norm.bias"), "norm.bias");
  EXPECT_EQ(names("blocks.11.norm2.bias"), "layer.11.norm2.bias");
  EXPECT_EQ(names("blocks.3.attn.q.weight"), "layer.3.attention.q_proj.weight");
  EXPECT_EQ(names("blocks.3.attn.k"), "layer.3.attention.k_proj");
  EXPECT_EQ(names("blocks.3.attn.v.bias"), "layer.3.attention.v_proj.bias");
  EXPECT_EQ(names("blocks.3.attn.proj.weight"), "layer.3.attention.o_proj.weight");
  EXPECT_EQ(names("blocks.0.ls1.gamma"), "layer.0.layer_scale1.lambda1");
  EXPECT_EQ(names("blocks.0.ls2.gamma"), "layer.0.layer_scale2.lambda1");
  EXPECT_EQ(names("blocks.0.mlp.fc1"), "layer.0.mlp.up_proj");
  EXPECT_EQ(names("blocks.0.mlp.fc2.weight"), "layer.0.mlp.down_proj.weight");
  EXPECT_EQ(names("blocks.0.mlp.w1"), "layer.0.mlp.gate_proj");
  EXPECT_EQ(names("blocks.0.mlp.w2"), "layer.0.mlp.up_proj");
  EXPECT_EQ(names("blocks.0.mlp.w3"), "layer.0.mlp.down_proj");
}

TEST(DinoV3Names, NewerLibrariesPutBlocksUnderModel) {
  const DinoV3Names names(source_with({"embeddings.cls_token", "model.layer.0.norm1.weight"}));
  EXPECT_EQ(names("blocks.2.attn.proj.bias"), "model.layer.2.attention.o_proj.bias");
  EXPECT_EQ(names("norm.bias"), "norm.bias");
}

TEST(DinoV3Names, SaysWhatIsInAFileOfAnotherModel) {
  const auto source = source_with({"encoder.weight", "head.bias"});
  try {
    DinoV3Names names(source);
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_THAT(error.what(), HasSubstr("encoder.weight, head.bias"));
  }
}

}  // namespace
}  // namespace skyfix
