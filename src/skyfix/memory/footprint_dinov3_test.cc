#include "skyfix/memory/footprint_dinov3.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace skyfix {
namespace {

TEST(Dinov3Footprint, ParametersAreThoseOfTheFiles) {
  const std::map<std::string_view, std::int64_t> counted = {
      {"dinov3-vits16", 21'601'152},      {"dinov3-vits16plus", 28'697'472},
      {"dinov3-vitb16", 85'669'632},      {"dinov3-vitl16", 303'154'176},
      {"dinov3-vitl16plus", 403'915'776}, {"dinov3-vith16plus", 840'633'600}};
  ASSERT_EQ(dinov3_models().size(), counted.size());
  for (const Dinov3Model& model : dinov3_models()) {
    EXPECT_EQ(dinov3_parameters(model), counted.at(model.name)) << model.name;
  }
}

TEST(Dinov3Footprint, ModelsAreFoundByNameSmallestFirst) {
  EXPECT_EQ(dinov3_model("dinov3-vitl16")->width, 1024);
  EXPECT_FALSE(dinov3_model("dinov3"));
  std::int64_t last = 0;
  for (const Dinov3Model& model : dinov3_models()) {
    EXPECT_GT(dinov3_parameters(model), last);
    last = dinov3_parameters(model);
  }
}

TEST(Dinov3Footprint, TokensOfAPicture) {
  EXPECT_EQ(dinov3_tokens(4000, 3000, 512), 5 + 32 * 24);
  EXPECT_EQ(dinov3_tokens(3000, 4000, 512), 5 + 32 * 24);
  EXPECT_EQ(dinov3_tokens(320, 160, 512), 5 + 20 * 10);  // never scaled up
  EXPECT_EQ(dinov3_tokens(10'000, 1, 512), 5 + 32);      // a row of patches at least
}

TEST(Dinov3Footprint, WeightsInHalfPrecisionAreHalf) {
  const Dinov3Model model = *dinov3_model("dinov3-vitl16");
  const ComponentNeed half = dinov3_need(model, 773, DataType::bf16);
  EXPECT_EQ(half.owner, "dinov3-vitl16");
  EXPECT_EQ(half.weights_bytes, 2U * 303'154'176);
  EXPECT_EQ(dinov3_need(model, 773, DataType::fp32).weights_bytes, 4U * 303'154'176);
  // Activations of one 512 px picture: some tens of megabytes.
  EXPECT_GT(half.workspace_bytes, 10'000'000U);
  EXPECT_LT(half.workspace_bytes, 60'000'000U);
  EXPECT_GT(dinov3_need(model, 774, DataType::bf16).workspace_bytes, half.workspace_bytes);
}

TEST(Dinov3Footprint, StreamedWeightsStayOnTheHost) {
  const Dinov3Model model = *dinov3_model("dinov3-vitl16");
  const ComponentNeed need = dinov3_need(model, 773, DataType::bf16, true);
  EXPECT_EQ(need.host_bytes, 2U * 303'154'176);
  EXPECT_EQ(need.weights_bytes, 2U * 2 * 12'598'272);
}

}  // namespace
}  // namespace skyfix
