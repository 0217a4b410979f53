// References and records at known errors from them. For tests only.
#pragma once

#include <numbers>
#include <string>
#include <vector>

#include "skyfix/report/evaluate.h"
#include "skyfix/report/testing.h"

namespace skyfix::report_testing {

// Poses that differ in position and rotation; the path of a reference that is not metric is 200
// units long.
inline Reference reference_of(std::vector<std::string> names, bool metric = true) {
  Reference reference;
  reference.metric = metric;
  reference.file = "somewhere/reference.json";
  if (!metric) reference.path_length = 200;
  for (const std::string& name : names) {
    const double turn = static_cast<double>(reference.queries.size());
    const Eigen::Quaterniond rotation(
        Eigen::AngleAxisd(turn, Eigen::Vector3d(1, 2, 3).normalized()));
    reference.queries.push_back({name, {rotation, {turn, 2 * turn, 30}}});
  }
  return reference;
}

// The reference's pose with the centre moved and the camera turned about its own axis.
inline Record moved(const ReferencePose& truth, const Eigen::Vector3d& offset, double turn_deg,
                    std::int64_t index = 1) {
  Fix fix = sample_ok_fix(truth.name, index);
  const Eigen::Quaterniond turn(
      Eigen::AngleAxisd(turn_deg * std::numbers::pi / 180, Eigen::Vector3d::UnitZ()));
  Rigid3 pose;
  pose.rotation = turn * truth.cam_from_world.rotation;
  pose.translation = -(pose.rotation * (truth.cam_from_world.centre() + offset));
  fix.pose->cam_from_world = pose;
  return {fix, {}};
}

}  // namespace skyfix::report_testing
