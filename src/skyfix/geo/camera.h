// Camera models of COLMAP (spec: COLMAP model files, camera model table). Pixels: the corner of the
// top-left pixel is (0, 0), its centre (0.5, 0.5). Camera axes: x right, y down, z forward.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

// COLMAP's numbers. Others than these are refused by name.
enum class CameraModel : int {
  simple_pinhole = 0,  // f cx cy
  pinhole = 1,         // fx fy cx cy
  simple_radial = 2,   // f cx cy k
  radial = 3,          // f cx cy k1 k2
  opencv = 4,          // fx fy cx cy k1 k2 p1 p2
  opencv_fisheye = 5,  // fx fy cx cy k1 k2 k3 k4
  full_opencv = 6,     // fx fy cx cy k1 k2 p1 p2 k3 k4 k5 k6
};

// COLMAP's upper-case name, e.g. "SIMPLE_RADIAL".
std::string_view camera_model_name(CameraModel model);
// From COLMAP's number or name. Throws Error(unsupported_camera_model) that names the model.
CameraModel camera_model_from_id(int id);
CameraModel camera_model_from_name(std::string_view name);
std::size_t camera_model_parameter_count(CameraModel model);

struct Camera {
  CameraModel model = CameraModel::simple_pinhole;
  int width = 0;   // pixels
  int height = 0;  // pixels
  std::vector<double> params;

  // Throws Error(bad_camera): sizes or focal lengths not positive, wrong number of parameters, not
  // finite.
  void validate() const;

  double focal_x() const { return params[0]; }
  double focal_y() const;
  Eigen::Vector2d principal_point() const;

  // Pixel of a point in the camera frame; nullopt at or behind the camera's plane (z <= 0), beyond
  // the distortion polynomial's monotone range, or where not finite.
  std::optional<Eigen::Vector2d> project(const Eigen::Vector3d& point) const;
  // As project, with d(pixel)/d(point) (2x3) and d(pixel)/d(params) (2 x n), each where not null.
  // Only by_params may allocate.
  std::optional<Eigen::Vector2d> project(const Eigen::Vector3d& point,
                                         Eigen::Matrix<double, 2, 3>* by_point,
                                         Eigen::Matrix<double, 2, Eigen::Dynamic>* by_params) const;
  // Unit ray (z > 0 except for fisheye beyond 90 degrees) through a pixel; nullopt where the
  // distortion cannot be undone.
  std::optional<Eigen::Vector3d> unproject(const Eigen::Vector2d& pixel) const;

  // The same camera for a picture scaled to a new size. The aspect should agree: a model with one
  // focal length takes the mean of the two scales.
  Camera scaled(int new_width, int new_height) const;
  // The camera of the picture turned by `quarters` x 90 degrees clockwise (as displayed); negative
  // = counter-clockwise. Exact for models with one focal length or two (swapped), radial terms
  // unchanged, tangential terms turned. A point seen by the turned camera must first be turned the
  // same way about z: see quarter_turn_rotation.
  Camera turned(int quarters) const;

  bool operator==(const Camera&) const = default;
};

// turned_cam_from_cam of a picture turned `quarters` x 90 degrees clockwise.
Eigen::Matrix3d quarter_turn_rotation(int quarters);
// The pixel of the original picture (width x height, before turning) that lies at `pixel` of the
// turned one, and back.
Eigen::Vector2d pixel_before_turn(const Eigen::Vector2d& pixel, int quarters, int width,
                                  int height);
Eigen::Vector2d pixel_after_turn(const Eigen::Vector2d& pixel, int quarters, int width, int height);

}  // namespace skyfix
