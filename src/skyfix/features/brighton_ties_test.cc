// SIFT against what COLMAP's own SIFT observed in a real photo.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "skyfix/features/tie.h"
#include "skyfix/map/colmap_model.h"
#include "skyfix/map/map_testing.h"

namespace skyfix {
namespace {

TEST(BrightonTies, FeaturesLieOnColmapsObservations) {
  const std::filesystem::path data = shared_data("brighton");
  SKYFIX_NEED_SHARED(data);
  const ColmapModel model = read_colmap(data / "sparse/0");
  const ColmapImage& photo = model.images.at(model.images.size() / 2);
  std::vector<Eigen::Vector2d> observations;
  for (const ColmapObservation& observation : photo.observations) {
    if (observation.point.valid()) observations.push_back(observation.pixel);
  }
  ASSERT_GT(observations.size(), 500u);

  FeatureOptions options;
  options.max_features = 0;
  const FeatureSet features =
      make_local_features("sift", options)->extract(decode_image(data / "images/map" / photo.name));
  const std::vector<Tie> ties = tie_features(features, observations);

  std::set<std::uint32_t> tied;
  std::vector<double> distances;
  Eigen::Vector2d mean_offset_px = Eigen::Vector2d::Zero();
  for (const Tie& tie : ties) {
    const Keypoint& keypoint = features.keypoints[tie.feature];
    tied.insert(tie.observation);
    distances.push_back(tie.distance_px);
    mean_offset_px += (Eigen::Vector2d(keypoint.x, keypoint.y) - observations[tie.observation]) /
                      double(ties.size());
  }
  EXPECT_GT(double(tied.size()), 0.7 * double(observations.size()));
  std::nth_element(distances.begin(), distances.begin() + std::ptrdiff_t(distances.size() / 2),
                   distances.end());
  EXPECT_LT(distances[distances.size() / 2], 0.1) << "median distance in pixels";
  // A pixel convention that is off by a quarter or a half would show here.
  EXPECT_LT(mean_offset_px.norm(), 0.03) << mean_offset_px.transpose();
}

}  // namespace
}  // namespace skyfix
