#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/models/local_network.h"
#include "skyfix/models/parity_testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix {
namespace {

using models::KeypointSet;
using models::SetComparison;

at::Tensor rows(const std::vector<float>& values, std::int64_t width) {
  return at::tensor(values).view({-1, width});
}

class AlikedParity : public models::ParityTest {
 protected:
  void SetUp() override {
    if (!open_goldens("aliked_lightglue")) return;
    const auto weights = weights_of("aliked-n16rot");
    if (weights) network_ = make_aliked(weights, {});
  }
  NetworkFeatures detect(const at::Tensor& picture, int most) const {
    return network_->detect(*network_->maps(models::picture_view(picture)), {most});
  }
  at::Tensor crop() const {
    return golden("image0").narrow(0, 0, 301).narrow(1, 0, 450).contiguous();
  }
  void expect_parity(const std::string& name, const NetworkFeatures& found,
                     double descriptor_atol) const {
    const KeypointSet wanted{golden(name + ".keypoints"), golden(name + ".scores"),
                             golden(name + ".descriptors")};
    const SetComparison result = models::compare_sets(
        wanted, {rows(found.xy, 2) - 0.5, at::tensor(found.score), rows(found.descriptors, 128)},
        0.05);
    RecordProperty(name, std::to_string(result.matched) + " of " + std::to_string(result.wanted) +
                             ", px " + std::to_string(result.position_px) + ", score " +
                             std::to_string(result.score * 1e6) + "e-6, descriptor " +
                             std::to_string(result.descriptor * 1e6) + "e-6");
    EXPECT_EQ(found.score.size(), result.wanted) << name;
    EXPECT_GE(result.matched, std::ceil(0.99 * result.wanted)) << name;
    EXPECT_LE(result.position_px, 7e-4) << name;
    EXPECT_LE(result.score, 2e-4) << name;
    EXPECT_LE(result.descriptor, descriptor_atol) << name;
  }
  std::unique_ptr<LocalNetwork> network_;
};

TEST_F(AlikedParity, FeaturesEqualTheReference) {
  expect_parity("image0.thr512", detect(golden("image0"), 512), 5e-5);
  expect_parity("image1.thr512", detect(golden("image1"), 512), 5e-5);
  expect_parity("image0.thr256_sorted", detect(golden("image0"), 256), 5e-5);
  expect_parity("padded_450x301.thr512", detect(crop(), 512), 6e-5);
}

TEST_F(AlikedParity, DescribesItsOwnKeypointsTheSame) {
  const auto maps = network_->maps(models::picture_view(crop()));
  const NetworkFeatures found = network_->detect(*maps, {300});
  EXPECT_EQ(found.dimension, 128);
  const at::Tensor again = at::tensor(network_->describe(*maps, found.xy));
  EXPECT_LE(models::largest_difference(again, at::tensor(found.descriptors)), 5e-5);
}

TEST_F(AlikedParity, PlacesOutsideHaveZeros) {
  const auto maps = network_->maps(models::picture_view(crop()));
  const float nan = std::nanf("");
  const std::vector<float> xy = {-900, 5, 5, 1e30F, nan, nan, 450, 301, 0, 0};
  const at::Tensor lengths = rows(network_->describe(*maps, xy), 128).norm(2, {1});
  EXPECT_TRUE(at::allclose(lengths, at::tensor({0.0F, 0.0F, 0.0F, 1.0F, 1.0F})));
  EXPECT_TRUE(network_->describe(*maps, {}).empty());
}

TEST_F(AlikedParity, PicturesOfOneColourHaveNoKeypoints) {
  for (const int brightness : {0, 255}) {
    const at::Tensor even = at::full({130, 200, 3}, brightness, at::kByte);
    const auto maps = network_->maps(models::picture_view(even));
    const NetworkFeatures found = network_->detect(*maps, {});
    EXPECT_EQ(found.score.size(), 0) << brightness;
    EXPECT_TRUE(found.descriptors.empty());
    const std::vector<float> place = {80, 48};
    for (const float value : network_->describe(*maps, place)) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(Aliked, TakesGreyAndLongPicturesAndRefusesTinyOnes) {
  const auto network = make_aliked(make_synthetic_source(), {});
  const at::Tensor noise = at::randint(256, {33, 660, 1}, at::kByte);
  const NetworkFeatures found = network->detect(*network->maps(models::picture_view(noise)), {50});
  EXPECT_EQ(found.descriptors.size(), found.score.size() * 128);
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

TEST_F(AlikedParity, RefusesWeightsOfAnotherModel) {
  const auto other = weights_of("xfeat");
  if (!other) return;
  try {
    make_aliked(other, {});
    ADD_FAILURE() << "took XFeat's weights";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_weights);
    EXPECT_NE(error.message().find("block1.conv1.weight"), std::string::npos);
  }
}

}  // namespace
}  // namespace skyfix
