#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/models/local_network.h"
#include "skyfix/models/parity_testing_torch.h"
#include "skyfix/models/sampling_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

using models::KeypointSet;
using models::SetComparison;

at::Tensor rows(const std::vector<float>& values, std::int64_t width) {
  return at::tensor(values).view({-1, width});
}

class XFeatParity : public models::ParityTest {
 protected:
  void SetUp() override {
    if (!open_goldens("xfeat")) return;
    const auto weights = weights_of("xfeat");
    if (weights) network_ = make_xfeat(weights, {});
  }

  NetworkFeatures detect(const at::Tensor& picture, const DetectOptions& options) const {
    return network_->detect(*network_->maps(models::picture_view(picture)), options);
  }

  // The reference's positions are products of integer pixels and the scale.
  static KeypointSet as_reference(const NetworkFeatures& found, double scale_x, double scale_y) {
    const at::Tensor xy = rows(found.xy, 2) - at::tensor({0.5 * scale_x, 0.5 * scale_y});
    return {xy.to(at::kFloat), at::tensor(found.score), rows(found.descriptors, 64)};
  }

  void expect_parity(const std::string& name, const KeypointSet& found) const {
    const KeypointSet wanted{golden(name + ".keypoints"), golden(name + ".scores"),
                             golden(name + ".descriptors")};
    EXPECT_EQ(found.xy.size(0), wanted.xy.size(0));
    const SetComparison result = models::compare_sets(wanted, found, 0.05);
    RecordProperty(name, std::to_string(result.matched) + " of " + std::to_string(result.wanted) +
                             ", px " + std::to_string(result.position_px) + ", score " +
                             std::to_string(result.score * 1e6) + "e-6, descriptor " +
                             std::to_string(result.descriptor * 1e6) + "e-6");
    EXPECT_GE(result.matched, std::ceil(0.99 * result.wanted)) << name;
    EXPECT_LE(result.position_px, 5e-5) << name;
    EXPECT_LE(result.score, 5e-5) << name;
    EXPECT_LE(result.descriptor, 5e-5) << name;
  }
  std::unique_ptr<LocalNetwork> network_;
};

TEST_F(XFeatParity, SparseFeaturesEqualTheReference) {
  for (const std::string image : {"image0", "image1"}) {
    const NetworkFeatures found = detect(golden(image), {1024, /*subpixel=*/false});
    expect_parity(image + ".sparse1024", as_reference(found, 1, 1));
  }
  expect_parity("image0.sparse128", as_reference(detect(golden("image0"), {128, false}), 1, 1));
}

TEST_F(XFeatParity, PictureOfOtherSidesIsResized) {
  const at::Tensor crop = golden("image0").narrow(0, 0, 301).narrow(1, 0, 450).contiguous();
  const NetworkFeatures found = detect(crop, {1024, false});
  expect_parity("resized_450x301.sparse1024", as_reference(found, 450.0 / 448, 301.0 / 288));
}

TEST_F(XFeatParity, ScoresFallAndEqualOnesKeepRasterOrder) {
  const NetworkFeatures found = detect(golden("image0"), {0, false});
  ASSERT_GT(found.score.size(), 1024);
  for (std::size_t i = 1; i < found.score.size(); ++i) {
    ASSERT_GE(found.score[i - 1], found.score[i]);
    if (found.score[i - 1] > found.score[i]) continue;
    EXPECT_LT(found.xy[2 * i - 1] * 480 + found.xy[2 * i - 2],
              found.xy[2 * i + 1] * 480 + found.xy[2 * i]);
  }
}

TEST_F(XFeatParity, DescribesItsOwnKeypointsTheSame) {
  const at::Tensor crop = golden("image0").narrow(0, 0, 301).narrow(1, 0, 450).contiguous();
  const auto maps = network_->maps(models::picture_view(crop));
  const NetworkFeatures found = network_->detect(*maps, {500, false});
  const std::vector<float> again = network_->describe(*maps, found.xy);
  EXPECT_LE(models::largest_difference(at::tensor(again), at::tensor(found.descriptors)), 2e-5);
}

TEST_F(XFeatParity, SubpixelMovesWithinTheWindowAndKeepsDescriptors) {
  const NetworkFeatures whole = detect(golden("image0"), {300, false});
  const NetworkFeatures moved = detect(golden("image0"), {300, true});
  EXPECT_EQ(whole.descriptors, moved.descriptors);
  const at::Tensor step = (at::tensor(moved.xy) - at::tensor(whole.xy)).abs();
  EXPECT_GT(step.mean().item<double>(), 0.01);
  EXPECT_LT(step.max().item<double>(), 2);
}

TEST_F(XFeatParity, PlacesOutsideHaveZeros) {
  const auto maps = network_->maps(models::picture_view(golden("image0")));
  const float nan = std::nanf("");
  const std::vector<float> xy = {-900, 5, 5, 1e30F, nan, nan, 100, 100};
  const at::Tensor lengths = rows(network_->describe(*maps, xy), 64).norm(2, {1});
  EXPECT_TRUE(at::allclose(lengths, at::tensor({0.0F, 0.0F, 0.0F, 1.0F})));
  EXPECT_TRUE(network_->describe(*maps, {}).empty());
}

TEST_F(XFeatParity, BlackPictureHasNoKeypoints) {
  const at::Tensor black = at::zeros({96, 160, 3}, at::kByte);
  const auto maps = network_->maps(models::picture_view(black));
  const NetworkFeatures found = network_->detect(*maps, {});
  EXPECT_TRUE(found.xy.empty());
  EXPECT_TRUE(found.score.empty());
  EXPECT_TRUE(found.descriptors.empty());
  const std::vector<float> place = {80, 48};
  for (const float value : network_->describe(*maps, place)) EXPECT_TRUE(std::isfinite(value));
}

TEST(XFeat, TakesGreyAndLongPicturesAndRefusesTinyOnes) {
  const auto network = make_xfeat(make_synthetic_source(), {});
  const at::Tensor noise = at::randint(256, {33, 660, 1}, at::kByte);
  const NetworkFeatures found = network->detect(*network->maps(models::picture_view(noise)), {50});
  EXPECT_EQ(found.dimension, 64);
  EXPECT_EQ(found.descriptors.size(), found.score.size() * 64);
  for (const float value : found.descriptors) ASSERT_TRUE(std::isfinite(value));
  for (const auto& [height, width] : {std::pair{1, 1}, {31, 500}, {500, 31}}) {
    const at::Tensor tiny = at::zeros({height, width, 3}, at::kByte);
    try {
      network->maps(models::picture_view(tiny));
      ADD_FAILURE() << "took " << width << " x " << height;
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::image_too_small);
    }
  }
}

TEST_F(XFeatParity, RefusesWeightsOfAnotherModel) {
  const auto other = weights_of("lighterglue");
  if (!other) return;
  try {
    make_xfeat(other, {});
    ADD_FAILURE() << "took LighterGlue's weights";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_NE(error.message().find("block1.0.layer.0.weight"), std::string::npos);
  }
}

}  // namespace
}  // namespace skyfix
