// The lens distortion behind Camera, on the normalized plane (x/z, y/z), without its focal lengths
// and principal point. Internal to geo; formulas: COLMAP camera model table, which are those of
// OpenCV (calib3d) by the same parameter names.
//
// Every model is  distorted = g(s) * (u, v) + tangential(u, v),  s = u^2 + v^2:
//   polynomial  g = 1 + k1 s + k2 s^2
//   rational    g = (1 + k1 s + k2 s^2 + k3 s^3) / (1 + k4 s + k5 s^2 + k6 s^3)
//   fisheye     g = (t + k1 t^3 + k2 t^5 + k3 t^7 + k4 t^9) / sqrt(s),  t = atan(sqrt(s))
// It is used only where the radius it gives still grows with s: beyond that, points would fold back
// into the picture.
#pragma once

#include <Eigen/Core>
#include <array>
#include <optional>
#include <span>

#include "skyfix/geo/camera.h"

namespace skyfix::internal {

// Where a model keeps its parameters, in file order.
struct ModelLayout {
  std::string_view name;
  int focal_count;       // 1 or 2, the first parameters; the principal point follows
  int radial_count;      // k's, in order
  int tangential_index;  // of p1 (p2 follows), -1 where there is none
  int parameter_count() const {
    return focal_count + 2 + radial_count + (tangential_index < 0 ? 0 : 2);
  }
  // Index of the i-th k: p1 and p2 stand between k2 and k3.
  int radial_index(int i) const {
    const int index = focal_count + 2 + i;
    return tangential_index >= 0 && index >= tangential_index ? index + 2 : index;
  }
};
const ModelLayout& model_layout(CameraModel model);

// A point moved by the lens, with the parts its derivatives are made of.
struct Distorted {
  Eigen::Vector2d point;
  double s = 0;            // squared radius before
  double scale = 1;        // g(s)
  double slope = 0;        // dg/ds
  double denominator = 1;  // of g, rational model
  double angle_ratio = 1;  // t / sqrt(s), fisheye
};

class Distortion {
 public:
  // `params` in the model's file order, as many as the layout says.
  Distortion(CameraModel model, std::span<const double> params);

  // nullopt beyond the monotone range and where the numbers overflow.
  std::optional<Distorted> distort(const Eigen::Vector2d& plane) const;
  // d(distorted)/d(plane), for a result of distort.
  Eigen::Matrix2d by_plane(const Eigen::Vector2d& plane, const Distorted& distorted) const;
  // d(distorted)/d(k_i), for a result of distort. 0 <= i < radial_count.
  Eigen::Vector2d by_radial(int i, const Eigen::Vector2d& plane, const Distorted& distorted) const;
  // d(distorted)/d(p1, p2).
  static Eigen::Matrix2d by_tangential(const Eigen::Vector2d& plane);

  // Unit ray through a distorted point; nullopt where none is found that distorts to it.
  std::optional<Eigen::Vector3d> ray(const Eigen::Vector2d& distorted) const;

 private:
  enum class Kind { none, polynomial, rational, fisheye };

  // Whether the distorted radius grows all the way out to a squared radius of s.
  bool monotone(double s) const;
  bool fisheye_monotone(double angle) const;
  void rational_scale(Distorted* d) const;
  void fisheye_scale(Distorted* d) const;
  std::optional<Eigen::Vector2d> plane_of(const Eigen::Vector2d& distorted) const;
  std::optional<double> fisheye_angle(double radius) const;

  Kind kind_ = Kind::none;
  bool tangential_ = false;
  std::array<double, 6> k_{};
  double p1_ = 0;
  double p2_ = 0;
};

}  // namespace skyfix::internal
