#include "skyfix/models/dinov3/dinov3_config.h"

#include <gmock/gmock.h>

#include <functional>

#include "skyfix/base/error.h"
#include "skyfix/models/dinov3/testing.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {

using testing::MemoryTensors;

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kSmallJson = R"({"hidden_size": 128, "num_hidden_layers": 3,
  "num_attention_heads": 4, "intermediate_size": 192, "num_register_tokens": 4,
  "use_gated_mlp": true, "rope_theta": 50.0, "layer_norm_eps": 1e-06, "patch_size": 16})";

// The tensors whose shapes tell the sizes: width 128, three gated blocks of 192.
MemoryTensors small_file() {
  MemoryTensors file;
  file.add_filled("embeddings.cls_token", {1, 1, 128}, 0);
  file.add_filled("embeddings.register_tokens", {1, 4, 128}, 0);
  file.add_filled("embeddings.patch_embeddings.weight", {128, 3, 16, 16}, 0);
  for (const std::string block : {"layer.0", "layer.1", "layer.2"}) {
    file.add_filled(block + ".norm1.weight", {128}, 1);
    file.add_filled(block + ".mlp.gate_proj.weight", {192, 128}, 1);
    file.add_filled(block + ".mlp.up_proj.weight", {192, 128}, 1);
    file.add_filled(block + ".attention.q_proj.bias", {128}, 0);
  }
  return file;
}

void expect_refused(const std::function<void()>& work, Reason reason,
                    const ::testing::Matcher<std::string>& message) {
  try {
    work();
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), reason);
    EXPECT_THAT(std::string(error.what()), message);
  }
}

TEST(DinoV3Config, KnownModels) {
  const DinoV3Config large = dinov3_config("dinov3-vitl16");
  EXPECT_EQ(large.width, 1024);
  EXPECT_EQ(large.blocks, 24);
  EXPECT_EQ(large.heads, 16);
  EXPECT_EQ(large.head_size(), 64);
  EXPECT_EQ(large.hidden, 4096);
  EXPECT_FALSE(large.gated);
  EXPECT_EQ(large.model(), "dinov3-vitl16");
  EXPECT_TRUE(dinov3_config("dinov3-vith16plus").gated);
  EXPECT_EQ(dinov3_config("dinov3-vith16plus").heads, 20);
  EXPECT_EQ(dinov3_config("vitl16"), large);
  EXPECT_EQ(dinov3_config("dinov3-vitl16-sat"), large);
  expect_refused([] { dinov3_config("dinov3-vitx"); }, Reason::bad_option,
                 AllOf(HasSubstr("vitx"), HasSubstr("dinov3-vits16plus")));
}

TEST(DinoV3Config, PlaceLayerIsTheSameRelativeDepth) {
  EXPECT_EQ(dinov3_place_layer(dinov3_config("dinov3-vits16")), 9);
  EXPECT_EQ(dinov3_place_layer(dinov3_config("dinov3-vitb16")), 9);
  EXPECT_EQ(dinov3_place_layer(dinov3_config("dinov3-vitl16")), 18);
  EXPECT_EQ(dinov3_place_layer(dinov3_config("dinov3-vith16plus")), 24);
}

TEST(DinoV3Config, FromShapes) {
  const DinoV3Config config = dinov3_config_of(small_file());
  EXPECT_EQ(config.width, 128);
  EXPECT_EQ(config.blocks, 3);
  EXPECT_EQ(config.heads, 2);  // of 64
  EXPECT_EQ(config.hidden, 192);
  EXPECT_TRUE(config.gated);
  EXPECT_TRUE(config.qkv_bias);
  EXPECT_EQ(config.storage_tokens, 4);
  EXPECT_EQ(config.patch_px, 16);
  EXPECT_EQ(config.model(), "dinov3");
}

TEST(DinoV3Config, SizesOfAKnownModelAreRecognised) {
  DinoV3Config config = dinov3_config("dinov3-vitb16");
  EXPECT_EQ(config.model(), "dinov3-vitb16");
  config.heads = 6;
  EXPECT_EQ(config.model(), "dinov3");
}

TEST(DinoV3Config, JsonSaysWhatShapesDoNot) {
  const DinoV3Config said = dinov3_config_from_json(kSmallJson);
  EXPECT_EQ(said.heads, 4);
  EXPECT_EQ(said.rope_base, 50);
  EXPECT_EQ(said.norm_epsilon, 1e-6);
  EXPECT_EQ(dinov3_config_of(small_file(), said), said);
}

TEST(DinoV3Config, JsonInTheMetadataCounts) {
  MemoryTensors file = small_file();
  file.set_metadata("config", std::string(kSmallJson));
  EXPECT_EQ(dinov3_config_of(file).heads, 4);
  file.set_metadata("config", "something else");
  EXPECT_EQ(dinov3_config_of(file).heads, 2);
}

TEST(DinoV3Config, RefusesAConfigThatContradictsTheShapes) {
  DinoV3Config said = dinov3_config_from_json(kSmallJson);
  said.width = 64;
  said.blocks = 4;
  said.hidden = 96;
  said.gated = false;
  said.storage_tokens = 0;
  said.patch_px = 14;
  expect_refused([&] { dinov3_config_of(small_file(), said); }, Reason::bad_weights,
                 AllOf(HasSubstr("the width is 64 in the config and 128 in the file"),
                       HasSubstr("blocks is 4"), HasSubstr("feed-forward width is 96"),
                       HasSubstr("gated is 0"), HasSubstr("storage tokens is 0"),
                       HasSubstr("patch size is 14")));
}

TEST(DinoV3Config, StoredPeriodsTellTheHeadSize) {
  MemoryTensors file;
  file.add_filled("cls_token", {1, 1, 128}, 0);
  file.add_filled("patch_embed.proj.weight", {128, 3, 16, 16}, 0);
  file.add_filled("blocks.0.norm1.weight", {128}, 1);
  file.add_filled("blocks.0.mlp.fc1.weight", {512, 128}, 1);
  file.add_filled("rope_embed.periods", {8}, 1);
  const DinoV3Config config = dinov3_config_of(file);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.storage_tokens, 0);
  EXPECT_FALSE(config.qkv_bias);
  DinoV3Config said = config;
  said.heads = 2;
  expect_refused([&] { dinov3_config_of(file, said); }, Reason::bad_weights,
                 HasSubstr("the number of heads is 2 in the config and 4 in the file"));
}

TEST(DinoV3Config, RefusesHeadsThatDoNotFit) {
  DinoV3Config said = dinov3_config_from_json(kSmallJson);
  for (const int heads : {0, -1, 3, 64}) {
    said.heads = heads;
    expect_refused([&] { dinov3_config_of(small_file(), said); }, Reason::bad_weights,
                   HasSubstr("heads do not fit"));
  }
  MemoryTensors narrow = small_file();
  narrow.add_filled("embeddings.cls_token", {1, 1, 48}, 0);
  expect_refused([&] { dinov3_config_of(narrow); }, Reason::bad_weights, HasSubstr("config.json"));
}

TEST(DinoV3Config, RefusesJsonThatIsNone) {
  expect_refused([] { dinov3_config_from_json("{\"hidden_size\": 128", "config.json"); },
                 Reason::bad_weights, HasSubstr("config.json"));
  expect_refused([] { dinov3_config_from_json("{\"hidden_size\": \"wide\"}"); },
                 Reason::bad_weights, HasSubstr("config.json"));
  expect_refused([] { dinov3_config_from_json("[]"); }, Reason::bad_weights,
                 HasSubstr("config.json"));
}

TEST(DinoV3Config, RefusesFilesWithoutTheTensorsThatTell) {
  for (const std::string name : {"embeddings.patch_embeddings.weight", "layer.0.norm1.weight",
                                 "layer.0.mlp.up_proj.weight"}) {
    MemoryTensors file = small_file();
    file.erase("layer.0.mlp.gate_proj.weight");
    file.erase(name);
    expect_refused([&] { dinov3_config_of(file); }, Reason::bad_weights,
                   HasSubstr(name + " is missing"));
  }
}

TEST(DinoV3Config, RefusesShapesOfAnotherKind) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{128}, {1, 1, 0}, {1, 1, 1 << 20}}) {
    MemoryTensors file = small_file();
    file.add_filled("embeddings.cls_token", shape, 0);
    expect_refused([&] { dinov3_config_of(file); }, Reason::bad_weights,
                   HasSubstr("embeddings.cls_token is [1"));
  }
}

TEST(DinoV3Config, SyntheticWeightsNeedAModel) {
  expect_refused([] { dinov3_config_of(*make_synthetic_source()); }, Reason::bad_option,
                 HasSubstr("dinov3-vitl16"));
  const DinoV3Config small = dinov3_config("dinov3-vits16");
  EXPECT_EQ(dinov3_config_of(*make_synthetic_source(), small), small);
}

}  // namespace
}  // namespace skyfix
