#include "skyfix/features/network_features.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

// Finds the middle and a place in the first quarter; notes what it was shown.
class TwoPlaces : public LocalNetwork {
 public:
  struct Size : Maps {
    int width = 0, height = 0;
  };
  std::string_view kind() const override { return "two"; }
  int dimension() const override { return 2; }
  std::string weights_hash() const override { return hash; }
  std::unique_ptr<Maps> maps(const PictureView& picture) const override {
    auto size = std::make_unique<Size>();
    size->width = picture.width;
    size->height = picture.height;
    return size;
  }
  NetworkFeatures detect(const Maps& maps, const DetectOptions& options) const override {
    most = options.max_features;
    const auto& size = static_cast<const Size&>(maps);
    const auto w = float(size.width), h = float(size.height);
    return {2, {w / 2, h / 2, w / 4, h / 4}, {0.9f, 0.4f}, {1, 0, 0, 1}};
  }
  std::vector<float> describe(const Maps&, std::span<const float>) const override { return {}; }

  std::string hash = "abc";
  mutable int most = 0;
};

Image grey(int width, int height) {
  return {width, height, 1, std::vector<std::uint8_t>(std::size_t(width) * height, 100)};
}

TEST(NetworkFeatures, KeypointsAreOfThePictureGiven) {
  const auto network = std::make_shared<TwoPlaces>();
  const auto features = make_network_features(network, 7, 200);
  for (const auto& [width, height] : {std::pair(400, 300), {200, 100}, {100, 333}}) {
    const FeatureSet found = features->extract(grey(width, height));
    ASSERT_EQ(found.keypoints.size(), 2u);
    EXPECT_NEAR(found.keypoints[0].x, width / 2.0, 1e-3);
    EXPECT_NEAR(found.keypoints[0].y, height / 2.0, 1e-3);
    EXPECT_NEAR(found.keypoints[1].x, width / 4.0, 1e-3);
    EXPECT_EQ(found.keypoints[0].response, 0.9f);
    EXPECT_THAT(found.descriptors, ::testing::ElementsAre(1, 0, 0, 1));
    EXPECT_EQ(found.dimension, 2);
    EXPECT_EQ(network->most, 7);
  }
}

TEST(NetworkFeatures, ZeroNeverShrinks) {
  const auto features = make_network_features(std::make_shared<TwoPlaces>(), 0, 0);
  EXPECT_EQ(features->extract(grey(2001, 1001)).keypoints[0].x, 1000.5f);
}

TEST(NetworkFeatures, SaysWhatItIs) {
  const auto network = std::make_shared<TwoPlaces>();
  const auto features = make_network_features(network);
  EXPECT_EQ(features->kind(), "two");
  EXPECT_EQ(features->dimension(), 2);
  EXPECT_TRUE(features->wants_colour());
  EXPECT_TRUE(features->turn_matters());
  const std::string plain = features->signature();
  EXPECT_NE(plain, make_network_features(network, 5)->signature());
  EXPECT_NE(plain, make_network_features(network, kNetworkMaxFeatures, 99)->signature());
  network->hash = "other";
  EXPECT_NE(plain, features->signature());
  EXPECT_THROW(make_network_features(network, -1), Error);
  EXPECT_THROW(make_network_features(network, 1, -1), Error);
}

TEST(NetworkFeatures, PicturesAreSeenWithoutACopy) {
  const Image image = grey(4, 3);
  const PictureView view = picture_view(image);
  EXPECT_EQ(view.pixels, image.pixels.data());
  EXPECT_EQ(view.width, 4);
  EXPECT_EQ(view.height, 3);
  EXPECT_EQ(view.channels, 1);
}

}  // namespace
}  // namespace skyfix
