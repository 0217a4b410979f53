#include "skyfix/models/dinov3/dinov3_network_torch.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <tuple>

#include "skyfix/base/error.h"
#include "skyfix/models/dinov3/testing.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {

using testing::MemoryTensors;

at::Tensor tensor_of(const TensorSource& source, const std::string& name) {
  const StoredTensor* stored = source.find(name);
  if (stored == nullptr || stored->type != ElementType::f32) {
    throw std::runtime_error("no golden of 32 bits: " + name);
  }
  at::Tensor copy = at::empty(stored->shape, at::kFloat);
  std::copy(stored->bytes.begin(), stored->bytes.end(), static_cast<std::byte*>(copy.data_ptr()));
  return copy;
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  if (!a.sizes().equals(b.sizes())) return std::numeric_limits<double>::infinity();
  return (a - b).abs().max().item<double>();
}

// All tensors of an official file, with their shapes.
std::map<std::string, std::vector<std::int64_t>> official_shapes(const DinoV3Config& config) {
  const std::int64_t width = config.width, hidden = config.hidden, patch = config.patch_px;
  std::map<std::string, std::vector<std::int64_t>> shapes{
      {"cls_token", {1, 1, width}},       {"storage_tokens", {1, config.storage_tokens, width}},
      {"mask_token", {1, width}},         {"patch_embed.proj.weight", {width, 3, patch, patch}},
      {"patch_embed.proj.bias", {width}}, {"rope_embed.periods", {config.head_size() / 4}},
      {"norm.weight", {width}},           {"norm.bias", {width}}};
  for (int n = 0; n < config.blocks; ++n) {
    const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      shapes["blocks." + std::to_string(n) + "." + name + ".weight"] = {out, in};
      shapes["blocks." + std::to_string(n) + "." + name + ".bias"] = {out};
    };
    for (const std::string name :
         {"norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias", "ls1.gamma", "ls2.gamma"}) {
      shapes["blocks." + std::to_string(n) + "." + name] = {width};
    }
    shapes["blocks." + std::to_string(n) + ".attn.qkv.bias_mask"] = {3 * width};
    linear("attn.qkv", width, 3 * width);
    linear("attn.proj", width, width);
    linear(config.gated ? "mlp.w1" : "mlp.fc1", width, hidden);
    if (config.gated) linear("mlp.w2", width, hidden);
    linear(config.gated ? "mlp.w3" : "mlp.fc2", hidden, width);
  }
  return shapes;
}

// Synthetic weights as a file of a model would hold them, without periods and masks.
std::shared_ptr<MemoryTensors> synthetic_file(const DinoV3Config& config) {
  auto file = std::make_shared<MemoryTensors>();
  for (const auto& [name, shape] : official_shapes(config)) {
    std::size_t count = 1;
    for (const std::int64_t side : shape) count *= std::size_t(side);
    std::vector<float> values(count);
    if (fill_synthetic(name, shape, values)) file->add(name, shape, std::move(values));
  }
  return file;
}

DinoV3Network network_of(std::shared_ptr<const TensorSource> source,
                         const std::optional<DinoV3Config>& config = {},
                         Precision precision = Precision::fp32) {
  const nn::WeightReader reader(source, {DeviceKind::cpu, precision});
  DinoV3Network network(reader, DinoV3Names(*source), dinov3_config_of(*source, config));
  reader.finish("DINOv3");
  return network;
}

DinoV3Config tiny_config(bool gated) {
  DinoV3Config config;
  config.width = 64;
  config.blocks = 3;
  config.heads = 4;
  config.hidden = 256;
  config.gated = gated;
  return config;
}

class DinoV3Parity : public DinoV3Goldens {
 protected:
  void expect_near(const std::string& stage, const at::Tensor& found) {
    const double allowed = tolerance(stage);
    const double difference = largest_difference(found, tensor_of(*golden_, stage));
    EXPECT_LE(difference, allowed) << model_ << " " << stage;
    RecordProperty(model_ + "." + stage, ::testing::PrintToString(difference));
  }
  double tolerance(const std::string& stage) {
    std::ifstream file(folder() / "manifest.json");
    return nlohmann::json::parse(file)["tolerances"][model_].at(stage).at("atol").get<double>();
  }
  void expect_final(const DinoV3Network& network, const at::Tensor& tokens) {
    const std::int64_t special = network.config().special_tokens();
    const at::Tensor normal = network.normalise(tokens);
    expect_near("cls", normal.select(1, 0));
    expect_near("storage", normal.narrow(1, 1, special - 1));
    expect_near("patch", normal.narrow(1, special, normal.size(1) - special));
  }
  // Every stage that the golden file holds.
  void expect_stages(const DinoV3Network& network) {
    const at::Tensor image = tensor_of(*golden_, "image");
    const auto rotary = network.rotary(image.size(2) / 16, image.size(3) / 16);
    const std::int64_t special = network.config().special_tokens();
    if (golden_->find("rope_sin") != nullptr) {
      expect_near("rope_sin", rotary.sin.narrow(0, special, rotary.sin.size(0) - special));
      expect_near("rope_cos", rotary.cos.narrow(0, special, rotary.cos.size(0) - special));
    }
    at::Tensor tokens = network.embed(image);
    for (int n = 0; n < network.config().blocks; ++n) {
      const std::string number = std::to_string(n);
      for (const DinoV3Facet facet : {DinoV3Facet::query, DinoV3Facet::key, DinoV3Facet::value}) {
        const std::string stage = "qkv" + number + "." + std::string(dinov3_facet_name(facet));
        if (golden_->find(stage) != nullptr) {
          expect_near(stage, network.facet(std::size_t(n), tokens, facet));
          ++facets_;
        }
      }
      tokens = network.block(std::size_t(n), tokens, rotary);
      if (golden_->find("block" + number) != nullptr) expect_near("block" + number, tokens);
    }
    if (golden_->find("prenorm") != nullptr) expect_near("prenorm", tokens);
    expect_final(network, tokens);
  }

  std::string model_;
  std::shared_ptr<const TensorSource> golden_;
  int facets_ = 0;  // compared
};

// Model and layout of its names.
class DinoV3TinyParity
    : public DinoV3Parity,
      public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(DinoV3TinyParity, EveryStage) {
  model_ = std::get<0>(GetParam());
  golden_ = open(model_ + "_cases");
  const auto weights = open(model_ + "_weights_" + std::get<1>(GetParam()));
  expect_stages(network_of(weights, tiny_config(model_ == "tiny_swiglu")));
  EXPECT_EQ(facets_, 3);
}

INSTANTIATE_TEST_SUITE_P(Layouts, DinoV3TinyParity,
                         ::testing::Combine(::testing::Values("tiny_mlp", "tiny_swiglu"),
                                            ::testing::Values("official", "hf")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

TEST_F(DinoV3Parity, OfficialFilesTellTheHeadsThemselves) {
  EXPECT_EQ(dinov3_config_of(*open("tiny_mlp_weights_official")), tiny_config(false));
}

TEST_F(DinoV3Parity, NamesOfNewerHuggingFaceLibraries) {
  const auto older = open("tiny_mlp_weights_hf");
  auto newer = copy_of(*older);
  for (const std::string& name : older->names()) {
    if (name.starts_with("layer.")) newer->rename(name, "model." + name);
  }
  model_ = "tiny_mlp";
  golden_ = open("tiny_mlp_cases");
  expect_stages(network_of(newer, tiny_config(false)));
}

TEST_F(DinoV3Parity, KeyBiasIsZeroWhateverTheFileHolds) {
  const auto original = open("tiny_mlp_weights_official");
  auto changed = copy_of(*original);
  const std::string name = "blocks.1.attn.qkv.bias";
  at::Tensor bias = tensor_of(*original, name);
  bias.narrow(0, 64, 64).fill_(7);
  changed->add(name, {192}, {bias.data_ptr<float>(), bias.data_ptr<float>() + 192});
  changed->add_filled("blocks.1.attn.qkv.bias_mask", {192}, std::nanf(""));
  changed->erase("blocks.2.attn.qkv.bias_mask");
  model_ = "tiny_mlp";
  golden_ = open("tiny_mlp_cases");
  expect_stages(network_of(changed));
}

TEST_F(DinoV3Parity, SmallModelWithSyntheticWeights) {
  model_ = "vits16";
  golden_ = open("vits16_synthetic");
  expect_stages(network_of(make_synthetic_source(), dinov3_config("dinov3-vits16")));
  EXPECT_EQ(facets_, 3);
}

TEST_F(DinoV3Parity, StoredPeriodsAreUsed) {
  const auto wanted = open("vits16_synthetic_bf16_periods");
  const auto file = synthetic_file(dinov3_config("dinov3-vits16"));
  const at::Tensor periods = tensor_of(*wanted, "periods_bf16_rounded");
  file->add("rope_embed.periods", {16},
            {periods.data_ptr<float>(), periods.data_ptr<float>() + 16});
  const DinoV3Network network = network_of(file);
  EXPECT_EQ(network.config().model(), "dinov3-vits16");
  at::Tensor tokens = network.embed(tensor_of(*open("vits16_synthetic"), "image"));
  const auto rotary = network.rotary(6, 8);
  for (std::size_t n = 0; n < 12; ++n) tokens = network.block(n, tokens, rotary);
  model_ = "vits16";
  golden_ = wanted;
  expect_final(network, tokens);
}

TEST_F(DinoV3Parity, FullSizeLargeModelWithSyntheticWeights) {
  model_ = "vitl16";
  golden_ = open("vitl16_synthetic");
  expect_stages(network_of(make_synthetic_source(), dinov3_config("dinov3-vitl16")));
  EXPECT_EQ(facets_, 1);
}

TEST(DinoV3Network, TensorsOfTheOfficialFiles) {
  const std::vector<std::tuple<std::string, std::size_t, std::int64_t>> models{
      {"dinov3-vits16", 188, 21601152},      {"dinov3-vits16plus", 212, 28697472},
      {"dinov3-vitb16", 188, 85669632},      {"dinov3-vitl16", 368, 303154176},
      {"dinov3-vitl16plus", 416, 403915776}, {"dinov3-vith16plus", 552, 840633600}};
  for (const auto& [model, entries, parameters] : models) {
    const auto shapes = official_shapes(dinov3_config(model));
    EXPECT_EQ(shapes.size(), entries) << model;
    std::int64_t counted = 0;
    for (const auto& [name, shape] : shapes) {
      if (name.ends_with("bias_mask") || name.ends_with("periods")) continue;
      std::int64_t count = 1;
      for (const std::int64_t side : shape) count *= side;
      counted += count;
    }
    EXPECT_EQ(counted, parameters) << model;
  }
}

TEST(DinoV3Network, EveryTensorIsAskedFor) {
  const DinoV3Config config = tiny_config(true);
  const auto whole = synthetic_file(config);
  network_of(whole, config);
  int needed = 0;
  for (const std::string& name : whole->names()) {
    if (name == "mask_token") continue;
    const auto less = copy_of(*whole);
    less->erase(name);
    EXPECT_THROW(network_of(less, config), Error) << name;
    ++needed;
  }
  EXPECT_EQ(needed, 8 - 2 + 3 * (17 - 1));
  auto more = copy_of(*whole);
  more->add("blocks.0.attn.extra", {1}, {0});
  EXPECT_THROW(network_of(more, config), Error);
}

TEST(DinoV3Network, ClassAndStorageTokensMayHaveTheirOwnNorm) {
  const DinoV3Config config = tiny_config(false);
  const auto one = synthetic_file(config);
  auto two = copy_of(*one);
  two->add_filled("cls_norm.weight", {64}, 2);
  two->add_filled("cls_norm.bias", {64}, 1);
  two->add_filled("local_cls_norm.weight", {64}, 5);
  two->add_filled("local_cls_norm.bias", {64}, 5);
  const at::Tensor tokens = at::randn({1, 11, 64});
  const at::Tensor same = network_of(one, config).normalise(tokens);
  const at::Tensor other = network_of(two, config).normalise(tokens);
  EXPECT_EQ(largest_difference(same.narrow(1, 5, 6), other.narrow(1, 5, 6)), 0);
  const at::Tensor by_hand = at::layer_norm(tokens.narrow(1, 0, 5), {64}) * 2 + 1;
  EXPECT_LE(largest_difference(other.narrow(1, 0, 5), by_hand), 1e-5);
}

TEST(DinoV3Network, DamagedPeriodsAreRefused) {
  const DinoV3Config config = tiny_config(false);
  const auto file = synthetic_file(config);
  file->add("rope_embed.periods", {4}, {1, 3, 0, 30});
  EXPECT_THROW(network_of(file, config), Error);
}

TEST(DinoV3Network, RowsThatDoNotFillAPatchAreLeftOut) {
  const DinoV3Network network = network_of(make_synthetic_source(), tiny_config(false));
  const at::Tensor image = at::rand({1, 3, 47, 70});
  const at::Tensor cut = image.narrow(2, 0, 32).narrow(3, 0, 64);
  const at::Tensor found = network.patches(image, 1, DinoV3Facet::key);
  EXPECT_EQ(found.size(1), 2 * 4);
  EXPECT_LE(largest_difference(found, network.patches(cut, 1, DinoV3Facet::key)), 1e-6);
}

TEST(DinoV3Network, PicturesOfABatchDoNotMeet) {
  const DinoV3Network network = network_of(make_synthetic_source(), tiny_config(true));
  const at::Tensor images = at::rand({3, 3, 32, 48});
  const at::Tensor all = network.patches(images, 2, DinoV3Facet::token);
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(largest_difference(all.narrow(0, i, 1),
                                 network.patches(images.narrow(0, i, 1), 2, DinoV3Facet::token)),
              1e-5);
  }
}

TEST(DinoV3Network, PatchesAreTheFacetOfTheirBlock) {
  const DinoV3Network network = network_of(make_synthetic_source(), tiny_config(false));
  const at::Tensor image = at::rand({1, 3, 32, 48});
  const auto rotary = network.rotary(2, 3);
  const at::Tensor entering = network.block(0, network.embed(image), rotary);
  for (const DinoV3Facet facet : {DinoV3Facet::query, DinoV3Facet::key, DinoV3Facet::value}) {
    EXPECT_EQ(largest_difference(network.patches(image, 1, facet),
                                 network.facet(1, entering, facet).narrow(1, 5, 6)),
              0);
  }
  const at::Tensor leaving = network.normalise(network.block(1, entering, rotary));
  EXPECT_EQ(
      largest_difference(network.patches(image, 1, DinoV3Facet::token), leaving.narrow(1, 5, 6)),
      0);
}

// Half precision loses digits, not the direction of the vectors.
TEST(DinoV3Network, HalfPrecisionStaysClose) {
  const at::Tensor image = at::rand({1, 3, 64, 96}) * 4 - 2;
  const DinoV3Config config = tiny_config(true);
  const at::Tensor wanted =
      network_of(make_synthetic_source(), config).patches(image, 2, DinoV3Facet::token);
  for (const auto& [precision, allowed] :
       {std::pair{Precision::bf16, 2e-3}, std::pair{Precision::fp16, 5e-5}}) {
    const at::Tensor found = network_of(make_synthetic_source(), config, precision)
                                 .patches(image, 2, DinoV3Facet::token);
    EXPECT_EQ(found.scalar_type(), nn::scalar_type(precision));
    const at::Tensor cosine = at::cosine_similarity(found.to(at::kFloat), wanted, -1);
    EXPECT_GE(cosine.min().item<double>(), 1 - allowed) << precision_name(precision);
    EXPECT_LT(cosine.min().item<double>(), 1 - 1e-8) << "was not computed in less precision";
  }
}

}  // namespace
}  // namespace skyfix
