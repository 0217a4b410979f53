#include "skyfix/features/network_features.h"

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

class NetworkLocalFeatures : public LocalFeatures {
 public:
  NetworkLocalFeatures(std::shared_ptr<const LocalNetwork> network, int max_features,
                       int max_long_side_px)
      : network_(std::move(network)),
        max_features_(max_features),
        max_long_side_px_(max_long_side_px) {}

  std::string_view kind() const override { return network_->kind(); }
  int dimension() const override { return network_->dimension(); }
  bool wants_colour() const override { return true; }
  bool turn_matters() const override { return true; }
  std::string signature() const override {
    return std::string(kind()) + " weights=" + network_->weights_hash() +
           " max_features=" + std::to_string(max_features_) +
           " max_long_side_px=" + std::to_string(max_long_side_px_);
  }

  FeatureSet extract(const Image& image) const override {
    const Image small = max_long_side_px_ > 0 ? shrink_to(image, max_long_side_px_) : image;
    const auto maps = network_->maps(picture_view(small));
    const NetworkFeatures found =
        network_->detect(*maps, {.max_features = max_features_, .subpixel = true});
    const float scale_x = float(image.width) / float(small.width);
    const float scale_y = float(image.height) / float(small.height);
    FeatureSet features;
    features.dimension = found.dimension;
    features.descriptors = found.descriptors;
    features.keypoints.reserve(found.score.size());
    for (std::size_t i = 0; i < found.score.size(); ++i) {
      Keypoint keypoint;
      keypoint.x = found.xy[2 * i] * scale_x;
      keypoint.y = found.xy[2 * i + 1] * scale_y;
      keypoint.response = found.score[i];
      features.keypoints.push_back(keypoint);
    }
    return features;
  }

 private:
  std::shared_ptr<const LocalNetwork> network_;
  int max_features_;
  int max_long_side_px_;
};

}  // namespace

PictureView picture_view(const Image& image) {
  return {image.pixels.data(), image.width, image.height, image.channels};
}

std::unique_ptr<LocalFeatures> make_network_features(std::shared_ptr<const LocalNetwork> network,
                                                     int max_features, int max_long_side_px) {
  if (max_features < 0 || max_long_side_px < 0) {
    throw Error(Reason::bad_option,
                "the number of features and the longest side cannot be negative");
  }
  return std::make_unique<NetworkLocalFeatures>(std::move(network), max_features, max_long_side_px);
}

}  // namespace skyfix
