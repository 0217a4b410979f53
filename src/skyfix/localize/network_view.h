// One photo in one of its four turns, as a network sees it; everything is made when first asked
// for. For the network matcher's own sources.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "skyfix/features/local_features.h"
#include "skyfix/image/image.h"
#include "skyfix/models/local_network.h"

namespace skyfix {

class NetworkView {
 public:
  // `picture` (as stored) and `network` must outlive it. 0 px = never shrunk.
  NetworkView(const Image& picture, const LocalNetwork& network, int turn, int long_side_px);

  const LocalNetwork::Maps& maps();
  // Keypoints in pixels of the photo as stored.
  const FeatureSet& keypoints(int max_features);
  // The same in pixels of the turned, shrunk picture, as [n,2].
  const std::vector<float>& keypoints_xy() const { return keypoints_xy_; }
  // Descriptors every `grid_px` of the shrunk picture.
  const FeatureSet& grid(int grid_px);
  // Of the middle quarter of the picture alone, for telling turns apart: a quarter of the work.
  const FeatureSet& middle(int max_features);

  int width() const { return small_.width; }  // of the turned, shrunk picture
  int height() const { return small_.height; }
  Eigen::Vector2f to_view(const Eigen::Vector2f& stored_px) const;
  Eigen::Vector2f to_stored(const Eigen::Vector2f& view_px) const;
  double view_px_per_stored_px() const { return 1 / double(scale_.x()); }

 private:
  FeatureSet stored_features(const NetworkFeatures& found, float offset_x, float offset_y,
                             std::vector<float>* view_xy) const;

  const LocalNetwork& network_;
  int turn_;
  int stored_width_;
  int stored_height_;
  Image small_;            // turned, then shrunk
  Eigen::Vector2f scale_;  // turned px per shrunk px
  std::unique_ptr<LocalNetwork::Maps> maps_;
  std::optional<FeatureSet> keypoints_;
  std::vector<float> keypoints_xy_;
  std::optional<FeatureSet> grid_;
  std::optional<FeatureSet> middle_;
};

}  // namespace skyfix
