// Cameras and pixels to try things on. For tests only.
#pragma once

#include <string>
#include <vector>

#include "skyfix/geo/camera.h"

namespace skyfix {

// Realistic lenses of every model; odd sizes and principal points off the centre on purpose.
inline std::vector<Camera> lenses() {
  return {
      {CameraModel::simple_pinhole, 1001, 667, {812.5, 495.2, 340.1}},
      {CameraModel::pinhole, 1001, 667, {812.5, 808.1, 495.2, 340.1}},
      {CameraModel::simple_radial, 5472, 3648, {3700, 2741.5, 1811.25, -0.012}},
      {CameraModel::simple_radial, 1001, 667, {700, 495.2, 340.1, 0.08}},
      {CameraModel::radial, 4000, 3000, {2900, 1990, 1512, -0.11, 0.045}},
      {CameraModel::opencv, 4001, 3001, {2900, 2911, 1990, 1512, -0.11, 0.045, 1.2e-3, -8e-4}},
      {CameraModel::opencv_fisheye, 1281, 801, {620, 623, 633, 395, -0.03, 0.012, -0.004, 5e-4}},
      {CameraModel::full_opencv,
       4001,
       3001,
       {2900, 2911, 1990, 1512, 0.31, -0.12, 1.2e-3, -8e-4, 0.03, 0.38, -0.09, 0.02}},
  };
}

inline std::string describe(const Camera& camera) {
  return std::string(camera_model_name(camera.model)) + " " + std::to_string(camera.width);
}

// Pixels all over the picture: its corners and edges, the principal point and next to it.
inline std::vector<Eigen::Vector2d> pixels_of(const Camera& camera) {
  std::vector<Eigen::Vector2d> pixels;
  for (int row = 0; row <= 12; ++row) {
    for (int column = 0; column <= 16; ++column) {
      pixels.emplace_back(camera.width * column / 16.0, camera.height * row / 12.0);
    }
  }
  for (const double off : {0.0, 1e-9, 1e-6, 1e-3, 0.5, 3.0}) {
    pixels.push_back(camera.principal_point() + Eigen::Vector2d(off, 0));
    pixels.push_back(camera.principal_point() + Eigen::Vector2d(-0.3 * off, off));
  }
  return pixels;
}

}  // namespace skyfix
