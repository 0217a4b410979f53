// Fixes and scratch folders for this room's tests. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "skyfix/report/record.h"

namespace skyfix::report_testing {

// A new, empty folder.
inline std::filesystem::path scratch_folder() {
  static std::atomic<int> counter{0};
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       ("skyfix-report-" + std::to_string(::getpid()) + "-" +
                                        test->name() + "-" + std::to_string(counter.fetch_add(1)));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

// A georegistered fix whose numbers need all their digits.
inline Fix sample_ok_fix(const std::string& name, std::int64_t index) {
  Fix fix;
  fix.name = name;
  fix.index = index;
  fix.status = FixStatus::ok;
  FixPose pose;
  const double angle = 0.1 + 0.3 * static_cast<double>(index);
  pose.cam_from_world.rotation =
      Eigen::AngleAxisd(angle, Eigen::Vector3d(0.2, 0.9, -0.4).normalized());
  pose.cam_from_world.translation = {1.0 / 3.0 * static_cast<double>(index), -2e-17, 1e15 / 7};
  pose.position_enu = Eigen::Vector3d(10.1 * static_cast<double>(index), 20.2, 30.3);
  pose.position_wgs84 = Wgs84{46.8 + 1e-5 * static_cast<double>(index), -91.9, 150.25};
  pose.orientation_ypr_ned = GimbalAngles{41.5, -88.25, 0.5};
  Eigen::Matrix<double, 6, 6> covariance = Eigen::Matrix<double, 6, 6>::Identity() * 0.01;
  covariance(0, 1) = covariance(1, 0) = 0.004;
  pose.covariance_enu = covariance;
  pose.covariance_map = covariance * 4;
  fix.pose = pose;
  fix.inliers = 321;
  fix.matches = 456;
  fix.coverage = 0.71875;
  fix.reprojection_px = 0.9 / 0.7;
  fix.log10_false_alarms = -250.5;
  fix.image_width = 1600;
  fix.image_height = 900;
  fix.camera = Camera{CameraModel::simple_radial, 1600, 900, {924.1, 800.0, 450.0, 0.0037 / 3}};
  fix.camera_source = CameraSource::map_camera;
  fix.turn = 1;
  fix.retrieval.query_descriptor_source = "vlad-sift";
  fix.retrieval.num_faiss_proposed = 20;
  fix.retrieval.num_faiss_candidates = 18;
  fix.retrieval.num_temporal_proposed = 5;
  fix.retrieval.num_temporal_candidates = 4;
  fix.retrieval.selected_source = "faiss";
  Candidate candidate;
  candidate.name = "DJI_0018.JPG";
  candidate.origins = {{CandidateSource::faiss, 1, 0.75}, {CandidateSource::temporal, 3, -12.5}};
  fix.retrieval.candidates = {{candidate, 200, 150}};
  fix.telemetry.timing_ms = {{"decode", 12.5}, {"total", 250.25}};
  fix.telemetry.query_descriptor_cache = "miss";
  return fix;
}

inline Fix sample_bad_fix(const std::string& name, std::int64_t index, FixStatus status,
                          Reason reason) {
  Fix fix = sample_ok_fix(name, index);
  fix.status = status;
  fix.reason = reason;
  fix.reason_text = "It did not work.";
  fix.pose.reset();
  return fix;
}

// Three fixes and a failure, with exposure times and names that need quoting.
inline std::vector<Record> sample_run() {
  return {{sample_ok_fix("a.jpg", 1), 1'700'000'000'123'456'789},
          {sample_ok_fix("sub/b, \"c\".jpg", 2), 1'700'000'001'000'000'001},
          {sample_bad_fix("d e.jpg", 3, FixStatus::failed, Reason::no_features), {}},
          {sample_ok_fix("f.jpg", 4), 1'700'000'002'000'000'000}};
}

// The same as a run on a map that is nowhere on the earth gives.
inline std::vector<Record> without_georegistration(std::vector<Record> records) {
  for (Record& record : records) {
    if (!record.fix.pose) continue;
    record.fix.pose->position_enu.reset();
    record.fix.pose->position_wgs84.reset();
    record.fix.pose->orientation_ypr_ned.reset();
    record.fix.pose->covariance_enu.reset();
  }
  return records;
}

// The reason `action` is refused with; internal when it is not.
inline Reason refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.reason();
  }
  return Reason::internal;
}

}  // namespace skyfix::report_testing
