// The second half of Localizer: from a refined pose to a verdict and the Fix.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "skyfix/localize/localizer_frame.h"
#include "skyfix/localize/median.h"

namespace skyfix {
namespace {

constexpr double kGpsDisagreementM = 15;  // consumer GPS is better than this

// How far the focal length may be off, 1 sigma, for a camera that is not known. A known camera's
// own error is not in the covariance.
double relative_focal_sigma(CameraSource source) {
  if (source == CameraSource::guess) return 0.2;
  return source == CameraSource::exif ? 0.05 : 0;
}

}  // namespace

void Localizer::count_candidates(Frame& frame) const {
  RetrievalReport& report = frame.fix.retrieval;
  auto entry_of = [&](std::uint32_t image) -> RetrievalReport::Entry& {
    const auto at = std::find(frame.candidate_images.begin(), frame.candidate_images.end(), image);
    return report.candidates[at - frame.candidate_images.begin()];
  };
  for (std::size_t i = 0; i < frame.pairs.size(); ++i) {
    RetrievalReport::Entry& entry = entry_of(frame.pairs[i].image);
    ++entry.matches;
    if (frame.first.inlier[i]) ++entry.inliers;
  }
  const auto best =
      std::max_element(report.candidates.begin(), report.candidates.end(),
                       [](const auto& a, const auto& b) { return a.inliers < b.inliers; });
  report.selected_source = candidate_source_name(best->candidate.selected_source);
}

void Localizer::weigh_viewpoint(const Frame& frame, VerdictInput& input) const {
  const Eigen::Vector3d camera = frame.final.cam_from_map.centre();
  std::vector<double> distances, map_distances;
  int behind = 0;
  for (std::size_t i = 0; i < frame.pairs.size(); ++i) {
    if (!frame.first.inlier[i]) continue;
    const Eigen::Vector3d point = map_.point(frame.pairs[i].point);
    const Eigen::Vector3d to_camera = camera - point;
    const Eigen::Vector3d to_map_photo = map_.cam_from_map(frame.pairs[i].image).centre() - point;
    behind += to_camera.dot(to_map_photo) < 0 ? 1 : 0;
    distances.push_back(to_camera.norm());
    map_distances.push_back(to_map_photo.norm());
  }
  if (distances.empty()) return;
  input.behind_share = double(behind) / double(distances.size());
  input.distance_ratio = median_of(distances) / std::max(1e-12, median_of(map_distances));
}

// A fix far from where the photo itself says it was taken is worth a word: a wrong focal length (a
// crop, digital zoom) shows in nothing else on a nadir view.
void Localizer::compare_with_gps(Frame& frame) const {
  const auto position = frame.metadata.position();
  if (!position || !frame.fix.pose || !frame.fix.pose->position_enu) return;
  const Eigen::Vector3d off = *frame.fix.pose->position_enu -
                              EnuFrame(map_.georegistration().origin).enu_from_wgs84(*position);
  const double horizontal_m = off.head<2>().norm();
  if (horizontal_m > kGpsDisagreementM) {
    frame.fix.warnings.push_back(
        fmt::format("the fix lies {:.0f} m from the photo's own GPS, horizontally", horizontal_m));
  }
  if (frame.metadata.altitude_m && std::abs(off.z()) > kGpsDisagreementM) {
    frame.fix.warnings.push_back(
        fmt::format("the fix lies {:.0f} m {} the photo's own altitude: another datum, or a wrong "
                    "focal length (crop, digital zoom)",
                    std::abs(off.z()), off.z() < 0 ? "below" : "above"));
  }
}

void Localizer::decide(Frame& frame) const {
  count_candidates(frame);
  const std::vector<PointPair>& pairs = frame.final_pairs;
  const PoseEvidence evidence = pose_evidence(pairs, frame.final, options_.pose);

  VerdictInput input;
  input.found = frame.final.found;
  input.inliers = frame.final.inlier_count;
  input.log10_false_alarms = frame.evidence.log10_false_alarms;
  input.coverage = evidence.coverage;
  input.expected = frame.expected;
  input.support = frame.expected > 0 ? double(frame.final.inlier_count) / frame.expected : 0;
  input.first_inliers = frame.first.inlier_count;
  weigh_viewpoint(frame, input);
  if (frame.first.alternative) input.alternative_inliers = frame.first.alternative->inliers;

  Fix& fix = frame.fix;
  fix.inliers = frame.final.inlier_count;
  fix.coverage = evidence.coverage;
  fix.reprojection_px = frame.final.rms_px;
  fix.log10_false_alarms = frame.evidence.log10_false_alarms;
  fix.planar = frame.final.planar;
  if (frame.first.alternative) {
    fix.alternative =
        Fix::Alternative{frame.first.alternative->cam_from_map, frame.first.alternative->inliers,
                         frame.first.alternative->rms_px};
  }
  const Verdict verdict = judge(input, options_.verdict);
  if (verdict.refusal) {
    frame.stop(FixStatus::rejected, *verdict.refusal, verdict.text);
    frame.final_pairs.clear();
    return;
  }
  // Joint refinement rests on the inliers alone.
  std::vector<PointPair> inlier_pairs;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!frame.final.inlier[i]) continue;
    fix.inlier_points.push_back({pairs[i].pixel, pairs[i].group});
    inlier_pairs.push_back(pairs[i]);
  }
  frame.final_pairs = std::move(inlier_pairs);
  fix.status = FixStatus::ok;
  set_pose(fix, frame.final);
  compare_with_gps(frame);
}

void Localizer::set_pose(Fix& fix, const PoseEstimate& estimate) const {
  FixPose pose;
  pose.cam_from_world = estimate.cam_from_map;
  pose.covariance_map = estimate.covariance_map;
  if (pose.covariance_map) {
    // On a nadir view a focal error moves the camera along its axis and hides in the altitude.
    const Eigen::Vector3d axis =
        estimate.cam_from_map.rotation.conjugate() * Eigen::Vector3d::UnitZ();
    const double sigma = relative_focal_sigma(fix.camera_source) * scene_scale_;
    pose.covariance_map->topLeftCorner<3, 3>() += sigma * sigma * axis * axis.transpose();
  }
  const Georegistration& geo = map_.georegistration();
  if (geo.known()) {
    const Eigen::Vector3d enu = geo.enu_from_map * estimate.cam_from_map.centre();
    pose.position_enu = enu;
    pose.position_wgs84 = EnuFrame(geo.origin).wgs84_from_enu(enu);
    pose.orientation_ypr_ned = gimbal_from_cam_from_enu(
        (estimate.cam_from_map.rotation * geo.enu_from_map.rotation.conjugate()).normalized());
    if (pose.covariance_map) {
      Eigen::Matrix<double, 6, 6> turn = Eigen::Matrix<double, 6, 6>::Zero();
      const Eigen::Matrix3d rotation = geo.enu_from_map.rotation.toRotationMatrix();
      turn.topLeftCorner<3, 3>() = geo.enu_from_map.scale * rotation;
      turn.bottomRightCorner<3, 3>() = rotation;
      pose.covariance_enu = turn * *pose.covariance_map * turn.transpose();
    }
  }
  fix.pose = std::move(pose);
  fix.camera = estimate.camera;
}

void Localizer::refine_with_window(Fix& fix, std::span<const WindowFrame> frames) const {
  if (fix.status != FixStatus::ok || frames.size() < 2) return;
  const StageTimer timer(fix.telemetry, "window");
  // Points move within a pixel's worth of the scene's depth.
  const double point_sigma = scene_scale_ / frames.back().camera.focal_x();
  const PoseEstimate refined = refine_window(frames, point_sigma, options_.pose);
  if (!refined.found) {
    fix.warnings.push_back("joint refinement did not converge; the single-frame pose is kept");
    return;
  }
  set_pose(fix, refined);
  fix.reprojection_px = refined.rms_px;
}

}  // namespace skyfix
