#include "skyfix/localize/network_view.h"

#include <algorithm>

#include "skyfix/features/network_features.h"
#include "skyfix/localize/turn.h"

namespace skyfix {
namespace {

constexpr int kMinMiddlePx = 128;

Image crop(const Image& image, int left, int top, int width, int height) {
  Image part;
  part.width = width;
  part.height = height;
  part.channels = image.channels;
  part.pixels.reserve(std::size_t(width) * height * image.channels);
  for (int y = top; y < top + height; ++y) {
    const std::uint8_t* row = image.row(y) + std::size_t(left) * image.channels;
    part.pixels.insert(part.pixels.end(), row, row + std::size_t(width) * image.channels);
  }
  return part;
}

}  // namespace

NetworkView::NetworkView(const Image& picture, const LocalNetwork& network, int turns,
                         int long_side_px)
    : network_(network),
      turn_(turns),
      stored_width_(picture.width),
      stored_height_(picture.height),
      small_(turn(long_side_px > 0 ? shrink_to(picture, long_side_px) : picture, turns)) {
  const bool upright = (turns & 1) != 0;
  scale_ = {float(upright ? picture.height : picture.width) / float(small_.width),
            float(upright ? picture.width : picture.height) / float(small_.height)};
}

const LocalNetwork::Maps& NetworkView::maps() {
  if (!maps_) maps_ = network_.maps(picture_view(small_));
  return *maps_;
}

Eigen::Vector2f NetworkView::to_view(const Eigen::Vector2f& stored_px) const {
  return after_turn(stored_px, turn_, stored_width_, stored_height_).cwiseQuotient(scale_);
}

Eigen::Vector2f NetworkView::to_stored(const Eigen::Vector2f& view_px) const {
  return before_turn(view_px.cwiseProduct(scale_), turn_, stored_width_, stored_height_);
}

FeatureSet NetworkView::stored_features(const NetworkFeatures& found, float offset_x,
                                        float offset_y, std::vector<float>* view_xy) const {
  FeatureSet features;
  features.dimension = found.dimension;
  features.descriptors = found.descriptors;
  features.keypoints.resize(found.score.size());
  for (std::size_t i = 0; i < found.score.size(); ++i) {
    const Eigen::Vector2f view(found.xy[2 * i] + offset_x, found.xy[2 * i + 1] + offset_y);
    const Eigen::Vector2f stored = to_stored(view);
    features.keypoints[i].x = stored.x();
    features.keypoints[i].y = stored.y();
    features.keypoints[i].response = found.score[i];
    if (view_xy != nullptr) view_xy->insert(view_xy->end(), {view.x(), view.y()});
  }
  return features;
}

const FeatureSet& NetworkView::keypoints(int max_features) {
  if (!keypoints_) {
    keypoints_ =
        stored_features(network_.detect(maps(), {.max_features = max_features, .subpixel = true}),
                        0, 0, &keypoints_xy_);
  }
  return *keypoints_;
}

const FeatureSet& NetworkView::grid(int grid_px) {
  if (!grid_) {
    NetworkFeatures places;
    places.dimension = network_.dimension();
    for (int y = 0; y + grid_px <= small_.height; y += grid_px) {
      for (int x = 0; x + grid_px <= small_.width; x += grid_px) {
        places.xy.insert(places.xy.end(), {float(x) + 0.5f * grid_px, float(y) + 0.5f * grid_px});
      }
    }
    places.score.assign(places.xy.size() / 2, 1);
    places.descriptors = network_.describe(maps(), places.xy);
    grid_ = stored_features(places, 0, 0, nullptr);
  }
  return *grid_;
}

const FeatureSet& NetworkView::middle(int max_features) {
  if (!middle_) {
    // A narrow picture has no middle that a network could work on.
    const bool narrow = std::min(small_.width, small_.height) < kMinMiddlePx;
    const int width = narrow ? small_.width : small_.width / 2;
    const int height = narrow ? small_.height : small_.height / 2;
    const int left = (small_.width - width) / 2;
    const int top = (small_.height - height) / 2;
    const Image part = crop(small_, left, top, width, height);
    const auto part_maps = network_.maps(picture_view(part));
    middle_ = stored_features(
        network_.detect(*part_maps, {.max_features = max_features, .subpixel = true}), float(left),
        float(top), nullptr);
  }
  return *middle_;
}

}  // namespace skyfix
