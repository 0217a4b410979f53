// Exact 2D-3D pairs for tests: a camera over ground of chosen relief. For tests only.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "skyfix/solve/absolute_pose.h"

namespace skyfix::solve {

struct TestView {
  double heading_deg = 0;
  double tilt_deg = 0;  // from straight down
  double altitude = 100;
  Eigen::Vector3d foot = Eigen::Vector3d::Zero();  // of the camera, on the ground
};

struct TestPairs {
  int count = 100;
  double relief = 0;         // heights are uniform within +- this; 0 = an exact plane
  double noise_px = 0;       // of a pixel coordinate
  double outlier_share = 0;  // pixels thrown anywhere in the picture
  std::uint64_t seed = 1;
};

// The camera of case S6: 5472 x 3648, f = 3,700 px.
inline Camera survey_camera() {
  return {CameraModel::simple_pinhole, 5472, 3648, {3700, 2736, 1824}};
}

inline Camera distorted_camera() {
  return {CameraModel::opencv, 1600, 1200, {1200, 1210, 805, 595, -0.08, 0.02, 0.001, -0.0007}};
}

inline Rigid3 pose_of(const TestView& view) {
  constexpr double kRadians = std::numbers::pi / 180;
  const Eigen::Quaterniond down(0, 1, 0, 0);  // straight down, the picture's top to the north
  const Eigen::AngleAxisd tilt(view.tilt_deg * kRadians, Eigen::Vector3d::UnitX());
  const Eigen::AngleAxisd heading(view.heading_deg * kRadians, Eigen::Vector3d::UnitZ());
  Rigid3 pose;
  pose.rotation = (tilt * down * heading).normalized();
  pose.translation = -(pose.rotation * (view.foot + Eigen::Vector3d(0, 0, view.altitude)));
  return pose;
}

// Uniform pixels, each with the point of the ground it sees; every pair a group of its own.
inline std::vector<PointPair> make_pairs(const Camera& camera, const Rigid3& cam_from_map,
                                         const TestPairs& wanted) {
  std::mt19937_64 random(wanted.seed);
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> noise(0, 1);
  const Eigen::Vector3d centre = cam_from_map.centre();
  std::vector<PointPair> pairs;
  while (static_cast<int>(pairs.size()) < wanted.count) {
    const Eigen::Vector2d pixel(unit(random) * camera.width, unit(random) * camera.height);
    const double height = wanted.relief * (2 * unit(random) - 1);
    const auto ray = camera.unproject(pixel);
    if (!ray) continue;
    const Eigen::Vector3d direction = cam_from_map.rotation.conjugate() * *ray;
    if (direction.z() > -0.05) continue;  // near or above the horizon
    PointPair pair;
    pair.point = centre + (height - centre.z()) / direction.z() * direction;
    pair.pixel = pixel + wanted.noise_px * Eigen::Vector2d(noise(random), noise(random));
    pair.group = static_cast<std::uint32_t>(pairs.size());
    pairs.push_back(pair);
  }
  const int outliers = static_cast<int>(std::lround(wanted.outlier_share * wanted.count));
  for (int i = 0; i < outliers; ++i) {
    pairs[i].pixel = {unit(random) * camera.width, unit(random) * camera.height};
  }
  return pairs;
}

// Pixels and points that have nothing to do with each other.
inline std::vector<PointPair> noise_pairs(const Camera& camera, int count, std::uint64_t seed) {
  std::vector<PointPair> pairs =
      make_pairs(camera, pose_of({}), {.count = count, .relief = 10, .seed = seed});
  for (int i = count - 1; i > 0; --i) {
    std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(i));
    std::swap(pairs[i].pixel, pairs[random() % static_cast<std::uint64_t>(i + 1)].pixel);
  }
  return pairs;
}

}  // namespace skyfix::solve
