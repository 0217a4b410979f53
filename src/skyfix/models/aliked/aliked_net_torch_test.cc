#include "skyfix/models/aliked/aliked_net_torch.h"

#include "skyfix/models/parity_testing_torch.h"
#include "skyfix/nn/picture_torch.h"

namespace skyfix::aliked {
namespace {

class AlikedNet : public models::ParityTest {
 protected:
  void SetUp() override {
    if (!open_goldens("aliked_lightglue")) return;
    const auto weights = weights_of("aliked-n16rot");
    if (!weights) return;
    const nn::WeightReader reader(weights, {});
    net_ = std::make_unique<Net>(reader, Config::of(*weights));
    reader.finish("ALIKED");
  }
  at::Tensor input(const std::string& image) const {
    return nn::picture_tensor(models::picture_view(golden(image)), DeviceKind::cpu);
  }
  at::Tensor crop() const { return input("image0").narrow(2, 0, 301).narrow(3, 0, 450); }
  void expect_near(const at::Tensor& found, const std::string& name, double atol) const {
    const double difference = models::largest_difference(found, golden(name));
    RecordProperty(name, std::to_string(difference * 1e6) + "e-6");
    EXPECT_LE(difference, atol) << name;
  }
  // The features of every `step`th pixel from the `first` on, [dimension, rows, columns].
  at::Tensor features(const DenseMaps& maps, std::int64_t first, std::int64_t step) const {
    const at::Tensor x = at::arange(first, maps.width, step);
    const at::Tensor y = at::arange(first, maps.height, step);
    const at::Tensor rows =
        net_->features_at(maps, x.repeat({y.size(0)}), y.repeat_interleave(x.size(0)));
    return rows.t().view({-1, y.size(0), x.size(0)});
  }
  std::unique_ptr<Net> net_;
};

TEST_F(AlikedNet, EncoderEqualsTheReference) {
  const Encoded maps = net_->encode(input("image0"));
  const std::string name = "image0.thr512.";
  expect_near(maps.x1[0].slice(1, 4, 320, 8).slice(2, 4, 480, 8), name + "block1_stride8", 5e-5);
  expect_near(maps.x2[0].slice(1, 2, 160, 4).slice(2, 2, 240, 4), name + "block2_stride4", 5e-5);
  expect_near(maps.x3[0], name + "block3", 2e-4);
  expect_near(maps.x4[0], name + "block4", 2e-4);
}

TEST_F(AlikedNet, ScoresAndFeaturesEqualTheReference) {
  const DenseMaps maps = net_->maps(input("image0"));
  expect_near(maps.scores, "image0.thr512.score_map", 3e-4);
  expect_near(features(maps, 8, 16), "image0.thr512.feature_map_stride16", 5e-5);
  expect_near(net_->maps(input("image1")).scores, "image1.thr512.score_map", 5e-5);
  expect_near(net_->maps(crop()).scores, "padded_450x301.thr512.score_map", 5e-5);
}

TEST_F(AlikedNet, LowMemoryFormEqualsTheDirectOne) {
  const DenseMaps maps = net_->maps(crop());
  const Net::Direct direct = net_->direct(crop());
  EXPECT_LE(models::largest_difference(maps.scores, direct.scores), 2e-5);
  const at::Tensor wanted = direct.features[0].slice(1, 0, 301, 5).slice(2, 0, 450, 5);
  EXPECT_LE(models::largest_difference(features(maps, 0, 5), wanted), 2e-5);
}

TEST_F(AlikedNet, DescriptorsOfBothFormsAreEqualUpToTheBorders) {
  const DenseMaps maps = net_->maps(crop());
  const models::FeatureTable full = models::feature_table(net_->direct(crop()).features);
  const PixelReader read = [&](const at::Tensor& x, const at::Tensor& y) {
    return full.rows.index_select(0, y * full.width + x);
  };
  at::manual_seed(5);
  // More than one chunk.
  const at::Tensor places =
      at::cat({at::rand({600, 2}) * at::tensor({449.0F, 300.0F}),
               at::tensor({0.0F, 0.0F, 449.4F, 300.4F, -0.4F, 299.0F}).view({3, 2})});
  const at::Tensor wanted = net_->descriptor_head()(read, places, 301, 450);
  EXPECT_LE(models::largest_difference(net_->describe(maps, places), wanted), 5e-5);
}

TEST_F(AlikedNet, SampleOffsetsEqualTheReference) {
  const std::vector<std::pair<std::string, at::Tensor>> images = {{"image0", input("image0")},
                                                                  {"image1", input("image1")}};
  for (const auto& [image, picture] : images) {
    const DenseMaps maps = net_->maps(picture);
    const PixelReader read = [&](const at::Tensor& x, const at::Tensor& y) {
      return net_->features_at(maps, x, y);
    };
    const at::Tensor offsets = net_->descriptor_head().offsets(
        read, golden(image + ".thr512.keypoints"), maps.height, maps.width);
    expect_near(offsets, image + ".thr512.offsets", 5e-4);
  }
}

}  // namespace
}  // namespace skyfix::aliked
