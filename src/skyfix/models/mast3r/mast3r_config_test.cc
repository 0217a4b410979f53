#include "skyfix/models/mast3r/mast3r_config.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/models/mast3r/testing.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The tensors that the numbers are read from, of the tiny network. No values.
class TinyShapes : public TensorSource {
 public:
  TinyShapes() {
    put("patch_embed.proj.weight", {32, 3, 16, 16});
    for (const int n : {0, 1}) put("enc_blocks." + std::to_string(n) + ".norm1.weight", {32});
    for (const int n : {0, 1, 2, 3}) put("dec_blocks." + std::to_string(n) + ".norm1.weight", {24});
    put("enc_blocks.0.mlp.fc1.weight", {128, 32});
    put("dec_blocks.0.mlp.fc1.weight", {96, 24});
    put("decoder_embed.weight", {24, 32});
    put("downstream_head1.head_local_features.fc1.weight", {224, 56});
    put("downstream_head1.head_local_features.fc2.weight", {9 * 256, 224});
    put("downstream_head1.dpt.head.0.weight", {8, 16, 3, 3});
    const std::int64_t widths[] = {8, 12, 16, 24};
    for (int n = 0; n < 4; ++n) {
      put("downstream_head1.dpt.act_postprocess." + std::to_string(n) + ".0.weight",
          {widths[n], n == 0 ? 32 : 24, 1, 1});
    }
  }
  void put(const std::string& name, std::vector<std::int64_t> shape) {
    tensors_[name] = {name, ElementType::f32, std::move(shape), {}};
  }
  void erase(const std::string& name) { tensors_.erase(name); }
  void describe(const std::string& key, const std::string& text) { metadata_[key] = text; }

  std::string description() const override { return "tiny.safetensors"; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override { return {}; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string hash() const override { return ""; }

 private:
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

// As in a training checkpoint; `other` is put last.
std::string text_with(const std::string& other) {
  return "AsymmetricMASt3R(patch_embed_cls='ManyAR_PatchEmbed', img_size=(512, 512), "
         "depth_mode=('exp', -inf, inf), enc_embed_dim=32, dec_embed_dim=24, enc_num_heads=2, "
         "dec_num_heads=2, landscape_only=True, " +
         other + ")";
}

std::string error_of(const TensorSource& weights, const std::string& text) {
  try {
    mast3r_config(weights, text);
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    return error.what();
  }
  return "accepted";
}

TEST(Mast3rConfigTest, ReadsShapesAndText) {
  const Mast3rConfig config = mast3r_config(
      TinyShapes(), text_with("pos_embed='RoPE100', head_type='catmlp+dpt', enc_depth=2, "
                              "dec_depth=4, output_mode='pts3d+desc8', two_confs=True, "
                              "conf_mode=('exp', 1, inf), desc_conf_mode=('exp', 0, inf)"));
  EXPECT_EQ(config, mast3r::tiny_config());
  EXPECT_THAT(config.hooks(), ElementsAre(0, 2, 3, 4));
  EXPECT_THAT(Mast3rConfig{}.hooks(), ElementsAre(0, 6, 9, 12));
}

TEST(Mast3rConfigTest, FindsTheTextInTheMetadata) {
  for (const std::string key : {"args.model", "config"}) {
    TinyShapes weights;
    weights.describe(key, text_with("pos_embed='RoPE50'"));
    EXPECT_EQ(mast3r_config(weights).rotary_base, 50) << key;
  }
}

TEST(Mast3rConfigTest, ReadsAJsonConfiguration) {
  TinyShapes weights;
  weights.describe("config",
                   R"({"enc_num_heads": 4, "dec_num_heads": 2, "conf_mode": ["exp", 1, Infinity],)"
                   R"( "head_type": "catmlp+dpt", "two_confs": true})");
  EXPECT_EQ(mast3r_config(weights).encoder_heads, 4);
}

TEST(Mast3rConfigTest, TakesThePointsConfidenceWhereDescriptorsHaveNone) {
  EXPECT_EQ(mast3r_config(TinyShapes(), text_with("conf_mode=('exp', 2, inf)"))
                .descriptor_confidence_floor,
            2);
}

TEST(Mast3rConfigTest, GivesSyntheticWeightsThePublicNumbers) {
  EXPECT_EQ(mast3r_config(*make_synthetic_source()), Mast3rConfig{});
}

TEST(Mast3rConfigTest, NeedsATextForHeadsOfAnotherSize) {
  try {
    mast3r_config(TinyShapes());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("attention heads"), HasSubstr("tiny.safetensors")));
  }
}

TEST(Mast3rConfigTest, RefusesOtherNetworks) {
  for (const auto& [other, part] :
       std::map<std::string, std::string>{{"head_type='dpt'", "head_type is 'dpt'"},
                                          {"head_type='catmlp+linear'", "head_type"},
                                          {"head_type=3", "head_type is not a text"},
                                          {"two_confs=False", "two_confs"},
                                          {"output_mode='pts3d'", "output_mode"},
                                          {"output_mode='pts3d+desc'", "output_mode"},
                                          {"pos_embed='cosine'", "pos_embed"},
                                          {"pos_embed='RoPE0'", "base"},
                                          {"depth_mode=('linear', -inf, inf)", "depth_mode"},
                                          {"depth_mode=('exp', 0, inf)", "depth_mode"},
                                          {"conf_mode=('sigmoid', 0, 1)", "conf_mode"},
                                          {"conf_mode=('exp', -inf, inf)", "finite"},
                                          {"desc_conf_mode=('exp', 0, 10)", "desc_conf_mode"},
                                          {"patch_size=14", "patch_size says 14"},
                                          {"x=", "cannot be read"}}) {
    // Those of text_with stand only once.
    const std::string text = "M(enc_num_heads=2, dec_num_heads=2, " + other + ")";
    EXPECT_THAT(error_of(TinyShapes(), text), HasSubstr(part)) << other;
  }
}

TEST(Mast3rConfigTest, RefusesATextThatContradictsTheShapes) {
  for (const std::string key : {"enc_embed_dim", "enc_depth", "dec_embed_dim", "dec_depth"}) {
    const std::string text = "M(enc_num_heads=2, dec_num_heads=2, " + key + "=48)";
    EXPECT_THAT(error_of(TinyShapes(), text), HasSubstr(key + " says 48")) << key;
  }
  EXPECT_THAT(error_of(TinyShapes(), "M(output_mode='pts3d+desc24')"),
              HasSubstr("output_mode says 24, the tensors' shapes say 8"));
}

TEST(Mast3rConfigTest, RefusesNumbersThatCannotBe) {
  for (const std::string value : {"0", "-2", "1.5", "inf", "1e9", "'2'", "5"}) {
    EXPECT_THAT(error_of(TinyShapes(), "M(dec_num_heads=2, enc_num_heads=" + value + ")"),
                HasSubstr("heads"))
        << value;
  }
}

TEST(Mast3rConfigTest, RefusesOtherFiles) {
  TinyShapes without;
  without.erase("decoder_embed.weight");
  EXPECT_THAT(error_of(without, text_with("x=1")), HasSubstr("no tensor decoder_embed.weight"));
  TinyShapes flat;
  flat.put("patch_embed.proj.weight", {32, 768});
  EXPECT_THAT(error_of(flat, text_with("x=1")), HasSubstr("[32, 768]"));
  TinyShapes patches;
  patches.put("patch_embed.proj.weight", {32, 3, 14, 14});
  EXPECT_THAT(error_of(patches, text_with("x=1")), HasSubstr("14 px"));
  TinyShapes huge;
  huge.put("decoder_embed.weight", {std::int64_t{1} << 40, 32});
  EXPECT_THAT(error_of(huge, text_with("x=1")), HasSubstr("decoder_embed.weight has the shape"));
  TinyShapes shallow;
  shallow.erase("dec_blocks.3.norm1.weight");
  EXPECT_THAT(error_of(shallow, text_with("x=1")), HasSubstr("fewer than 4 blocks"));
}

}  // namespace
}  // namespace skyfix
