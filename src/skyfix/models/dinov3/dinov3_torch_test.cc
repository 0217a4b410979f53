#include "skyfix/models/dinov3/dinov3.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_dinov3.h"
#include "skyfix/models/dinov3/dinov3_network_torch.h"
#include "skyfix/models/dinov3/testing.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {
namespace {

using testing::MemoryTensors;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

DinoV3Options tiny() {
  DinoV3Config config;
  config.width = 64;
  config.blocks = 3;
  config.heads = 4;
  config.hidden = 256;
  return {config, {}};
}

DinoV3 tiny_network(Precision precision = Precision::fp32) {
  return DinoV3(make_synthetic_source(), {DeviceKind::cpu, precision}, tiny());
}

std::vector<std::uint8_t> noise(int count) {
  const at::Tensor values = at::randint(0, 256, {count}, at::kByte);
  return {values.data_ptr<std::uint8_t>(), values.data_ptr<std::uint8_t>() + count};
}

TEST(DinoV3Grid, ScalesToTheLongSideAndRoundsBothSides) {
  EXPECT_EQ(dinov3_grid(4000, 3000, 512), (PatchGrid{24, 32}));
  EXPECT_EQ(dinov3_grid(3000, 4000, 512), (PatchGrid{32, 24}));
  EXPECT_EQ(dinov3_grid(211, 157, 128), (PatchGrid{6, 8}));
  EXPECT_EQ(dinov3_grid(300, 200, 512), (PatchGrid{12, 19}));  // never up
  EXPECT_EQ(dinov3_grid(2000, 100, 512), (PatchGrid{2, 32}));
  EXPECT_EQ(dinov3_grid(1, 1, 512), (PatchGrid{1, 1}));
}

TEST(DinoV3Grid, IsWhatTheMemoryPlanCounts) {
  for (int width = 1; width < 5000; width += 97) {
    for (int height = 1; height < 5000; height += 389) {
      for (const int long_side : {256, 500, 1024}) {
        const PatchGrid grid = dinov3_grid(width, height, long_side);
        ASSERT_EQ(5 + grid.rows * grid.columns, dinov3_tokens(width, height, long_side))
            << width << " x " << height << " at " << long_side;
      }
    }
  }
}

TEST(DinoV3Facets, NamesAndBack) {
  for (const auto facet :
       {DinoV3Facet::token, DinoV3Facet::query, DinoV3Facet::key, DinoV3Facet::value}) {
    EXPECT_EQ(dinov3_facet(dinov3_facet_name(facet)), facet);
  }
  EXPECT_EQ(dinov3_facet_name(DinoV3Facet::value), "value");
  EXPECT_EQ(dinov3_facet("values"), std::nullopt);
  for (const auto colours : {DinoV3Colours::web, DinoV3Colours::satellite}) {
    EXPECT_EQ(dinov3_colours(dinov3_colours_name(colours)), colours);
  }
  EXPECT_EQ(dinov3_colours(""), std::nullopt);
}

class DinoV3Preprocessing : public DinoV3Goldens {};

TEST_F(DinoV3Preprocessing, ResizeAndColours) {
  const auto golden = open("preprocess");
  for (const std::string name : {"down", "square", "up"}) {
    const StoredTensor& source = *golden->find(name + ".source");
    const StoredTensor& stored = *golden->find(name + ".input");
    const at::Tensor wanted =
        at::from_blob(const_cast<std::byte*>(stored.bytes.data()), stored.shape, at::kFloat);
    const PictureView picture{reinterpret_cast<const std::uint8_t*>(source.bytes.data()),
                              int(source.shape[1]), int(source.shape[0]), 3};
    const PatchGrid grid{int(stored.shape[2] / 16), int(stored.shape[3] / 16)};
    const at::Tensor found = dinov3_input(picture, grid, 16, DinoV3Colours::web, DeviceKind::cpu);
    ASSERT_TRUE(found.sizes().equals(wanted.sizes()));
    const double difference = (found - wanted).abs().max().item<double>();
    EXPECT_LE(difference, 1e-5) << name;
    RecordProperty(name, ::testing::PrintToString(difference));
  }
}

TEST(DinoV3Input, SatelliteColours) {
  const std::vector<std::uint8_t> pixels(16 * 16 * 3, 102);  // 0.4
  const at::Tensor input = dinov3_input({pixels.data(), 16, 16, 3}, {1, 1}, 16,
                                        DinoV3Colours::satellite, DeviceKind::cpu);
  const at::Tensor means = input.mean({0, 2, 3});
  EXPECT_NEAR(means[0].item<double>(), (0.4 - 0.430) / 0.213, 1e-5);
  EXPECT_NEAR(means[1].item<double>(), (0.4 - 0.411) / 0.156, 1e-5);
  EXPECT_NEAR(means[2].item<double>(), (0.4 - 0.296) / 0.143, 1e-5);
}

TEST(DinoV3, PatchVectorsAreUnitRows) {
  const DinoV3 network = tiny_network();
  const auto pixels = noise(200 * 150 * 3);
  const PatchVectors patches =
      network.patches({pixels.data(), 200, 150, 3}, 1, DinoV3Facet::value, 128);
  EXPECT_EQ(patches.grid, (PatchGrid{6, 8}));
  EXPECT_EQ(patches.dimension, 64);
  ASSERT_EQ(patches.values.size(), 6u * 8 * 64);
  const at::Tensor rows = at::tensor(patches.values).view({48, 64});
  EXPECT_LE((at::linalg_vector_norm(rows, 2, at::IntArrayRef{-1}) - 1).abs().max().item<double>(),
            1e-6);
  const at::Tensor input = dinov3_input({pixels.data(), 200, 150, 3}, patches.grid, 16,
                                        DinoV3Colours::web, DeviceKind::cpu);
  const auto source = make_synthetic_source();
  const DinoV3Network inner(nn::WeightReader(source, {}), DinoV3Names(*source), *tiny().config);
  const at::Tensor wanted = inner.patches(input, 1, DinoV3Facet::value)[0];
  EXPECT_GE(at::cosine_similarity(rows, wanted, -1).min().item<double>(), 1 - 1e-5);
}

TEST(DinoV3, GreyPicturesAreColourlessOnes) {
  const DinoV3 network = tiny_network();
  const auto grey = noise(64 * 48);
  std::vector<std::uint8_t> colour;
  for (const std::uint8_t value : grey) colour.insert(colour.end(), 3, value);
  EXPECT_EQ(network.patches({grey.data(), 64, 48, 1}, 2, DinoV3Facet::token, 512).values,
            network.patches({colour.data(), 64, 48, 3}, 2, DinoV3Facet::token, 512).values);
}

TEST(DinoV3, OddPicturesGiveFiniteVectors) {
  const DinoV3 network = tiny_network();
  const auto pixels = noise(400 * 20 * 3);
  for (const auto& [width, height] : {std::pair{1, 1}, {400, 20}, {20, 400}, {1, 300}}) {
    const PatchVectors patches =
        network.patches({pixels.data(), width, height, 3}, 2, DinoV3Facet::value, 256);
    EXPECT_THAT(patches.values,
                Each(::testing::AllOf(::testing::Ge(-1.001f), ::testing::Le(1.001f))));
  }
}

TEST(DinoV3, HalfPrecisionGivesFloats) {
  const auto pixels = noise(64 * 48 * 3);
  const PictureView picture{pixels.data(), 64, 48, 3};
  const auto full = tiny_network().patches(picture, 2, DinoV3Facet::value, 512).values;
  const auto half =
      tiny_network(Precision::bf16).patches(picture, 2, DinoV3Facet::value, 512).values;
  ASSERT_EQ(full.size(), half.size());
  EXPECT_NE(full, half);
  for (std::size_t i = 0; i < full.size(); ++i) ASSERT_NEAR(full[i], half[i], 0.03) << i;
}

TEST(DinoV3, RefusesLayersItDoesNotHave) {
  const DinoV3 network = tiny_network();
  const auto pixels = noise(16 * 16 * 3);
  for (const int layer : {-1, 3}) {
    try {
      network.patches({pixels.data(), 16, 16, 3}, layer, DinoV3Facet::value, 512);
      ADD_FAILURE() << "was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::bad_option);
      EXPECT_THAT(error.what(), HasSubstr("layers 0 to 2"));
    }
  }
}

class DinoV3Files : public DinoV3Goldens {};

TEST_F(DinoV3Files, SaysWhatItIs) {
  const auto weights = open("tiny_swiglu_weights_official");
  const DinoV3 network(weights, {});
  EXPECT_EQ(network.config().heads, 4);
  EXPECT_TRUE(network.config().gated);
  EXPECT_EQ(network.weights_hash(), weights->hash());
  EXPECT_EQ(network.colours(), DinoV3Colours::web);
}

TEST_F(DinoV3Files, AnUnusedClassNormMeansSatelliteColours) {
  EXPECT_EQ(DinoV3(open("tiny_mlp_weights_official"), {}).colours(), DinoV3Colours::satellite);
  DinoV3Options options;
  options.colours = DinoV3Colours::web;
  EXPECT_EQ(DinoV3(open("tiny_mlp_weights_official"), {}, options).colours(), DinoV3Colours::web);
}

TEST_F(DinoV3Files, ImportedFilesSayWhatTheyAre) {
  const auto original = open("tiny_mlp_weights_hf");
  const auto imported = copy_of(*original);
  imported->set_metadata("source_sha256", "abc");
  const DinoV3 web(imported, {}, tiny());
  EXPECT_EQ(web.weights_hash(), "abc");
  EXPECT_EQ(web.colours(), DinoV3Colours::web);
  EXPECT_EQ(web.model(), "dinov3");
  imported->set_metadata("model", "dinov3-vitl16-sat");
  const DinoV3 satellite(imported, {}, tiny());
  EXPECT_EQ(satellite.colours(), DinoV3Colours::satellite);
  EXPECT_EQ(satellite.model(), "dinov3-sat");
}

TEST_F(DinoV3Files, BothLayoutsGiveTheSameVectors) {
  const auto pixels = noise(96 * 64 * 3);
  const PictureView picture{pixels.data(), 96, 64, 3};
  DinoV3Options options = tiny();
  options.colours = DinoV3Colours::web;
  const DinoV3 official(open("tiny_mlp_weights_official"), {}, options);
  const DinoV3 other(open("tiny_mlp_weights_hf"), {}, options);
  const auto a = official.patches(picture, 2, DinoV3Facet::token, 512).values;
  const auto b = other.patches(picture, 2, DinoV3Facet::token, 512).values;
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;
}

TEST_F(DinoV3Files, RefusesWeightsThatAreNotUsable) {
  const auto original = open("tiny_swiglu_weights_official");
  auto changed = copy_of(*original);
  changed->erase("norm.bias");
  changed->add_filled("blocks.0.attn.proj.bias", {63}, 0);
  changed->add_filled("blocks.1.ls1.gamma", {64}, std::nanf(""));
  changed->add("head.weight", {1}, {0});
  try {
    DinoV3 network(changed, {});
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("DINOv3"), HasSubstr("norm.bias"),
                                    HasSubstr("blocks.0.attn.proj.bias is [63], not [64]"),
                                    HasSubstr("blocks.1.ls1.gamma"), HasSubstr("head.weight")));
  }
}

}  // namespace
}  // namespace skyfix
