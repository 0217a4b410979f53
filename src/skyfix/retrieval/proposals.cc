// Candidates from geometry: near the expected camera, and near a GPS position.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "skyfix/retrieval/candidates.h"

namespace skyfix {
namespace {

// An image whose optical axis is further than this from the expected one sees something else.
const double kSmallestAxisCosine = std::cos(60 * std::numbers::pi / 180);

Eigen::Vector3d optical_axis(const Rigid3& cam_from_map) {
  return cam_from_map.rotation.conjugate() * Eigen::Vector3d::UnitZ();
}

// The best `limit`, by falling score, ties to the lowest image index.
void keep_best(std::vector<Proposal>& proposals, int limit) {
  const std::size_t kept = std::min(proposals.size(), std::size_t(std::max(0, limit)));
  std::partial_sort(proposals.begin(), proposals.begin() + std::ptrdiff_t(kept), proposals.end(),
                    [](const Proposal& a, const Proposal& b) {
                      return std::tuple(-a.score, a.image_index) <
                             std::tuple(-b.score, b.image_index);
                    });
  proposals.resize(kept);
}

}  // namespace

ProposalList temporal_candidates(const Map& map, const Rigid3& expected_cam_from_map, int limit) {
  ProposalList list{CandidateSource::temporal, {}};
  const Eigen::Vector3d expected_centre = expected_cam_from_map.centre();
  const Eigen::Vector3d expected_axis = optical_axis(expected_cam_from_map);
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    const Rigid3 cam_from_map = map.cam_from_map(i);
    const double distance = (cam_from_map.centre() - expected_centre).norm();
    // Also leaves out everything when the expected pose is not finite.
    if (!(optical_axis(cam_from_map).dot(expected_axis) >= kSmallestAxisCosine)) continue;
    if (!std::isfinite(distance)) continue;
    list.proposals.push_back({std::uint32_t(i), -distance});
  }
  keep_best(list.proposals, limit);
  return list;
}

ProposalList prior_candidates(const Map& map, const Wgs84& position, double radius_m, int limit) {
  ProposalList list{CandidateSource::prior, {}};
  const Georegistration& georegistration = map.georegistration();
  if (!georegistration.known() || !position.valid()) return list;

  const Eigen::Vector3d enu = EnuFrame(georegistration.origin).enu_from_wgs84(position);
  for (std::size_t i = 0; i < map.image_count(); ++i) {
    const Eigen::Vector3d image_enu = georegistration.enu_from_map * map.cam_from_map(i).centre();
    const double distance_m = (image_enu - enu).head<2>().norm();
    if (!(distance_m <= radius_m)) continue;
    list.proposals.push_back({std::uint32_t(i), -distance_m / georegistration.enu_from_map.scale});
  }
  keep_best(list.proposals, limit);
  return list;
}

}  // namespace skyfix
