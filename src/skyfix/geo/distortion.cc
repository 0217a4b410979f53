#include "skyfix/geo/distortion.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "skyfix/geo/positive_polynomial.h"

namespace skyfix::internal {
namespace {

// A ray is taken when its point is distorted back to within this of where it was asked for, in
// focal lengths: rounding leaves some 1e-15, a search that got stuck leaves far more.
constexpr double kAgreement = 1e-13;
constexpr double kRounding = 1e-15;
constexpr int kSteps = 60;
constexpr int kHalvings = 30;

constexpr std::array<ModelLayout, 7> kLayouts = {{
    {"SIMPLE_PINHOLE", 1, 0, -1},
    {"PINHOLE", 2, 0, -1},
    {"SIMPLE_RADIAL", 1, 1, -1},
    {"RADIAL", 1, 2, -1},
    {"OPENCV", 2, 2, 6},
    {"OPENCV_FISHEYE", 2, 4, -1},
    {"FULL_OPENCV", 2, 6, 6},
}};

// The value and the derivative of 1 + c[0] x + c[1] x^2 + ...
struct ValueAndSlope {
  double value;
  double slope;
};
template <std::size_t Count>
ValueAndSlope evaluate(const double* c, double x) {
  double value = 0;
  double slope = 0;
  for (std::size_t i = Count; i-- > 0;) {
    slope = slope * x + static_cast<double>(i + 1) * c[i];
    value = (value + c[i]) * x;
  }
  return {1 + value, slope};
}

double power(double x, int exponent) {
  double result = 1;
  for (int i = 0; i < exponent; ++i) result *= x;
  return result;
}

}  // namespace

const ModelLayout& model_layout(CameraModel model) {
  const auto index = static_cast<std::size_t>(model);
  assert(index < kLayouts.size());
  return kLayouts[index];
}

Distortion::Distortion(CameraModel model, std::span<const double> params) {
  const ModelLayout& layout = model_layout(model);
  assert(params.size() == static_cast<std::size_t>(layout.parameter_count()));
  for (int i = 0; i < layout.radial_count; ++i) k_[i] = params[layout.radial_index(i)];
  if (layout.tangential_index >= 0) {
    tangential_ = true;
    p1_ = params[layout.tangential_index];
    p2_ = params[layout.tangential_index + 1];
  }
  if (model == CameraModel::opencv_fisheye) {
    kind_ = Kind::fisheye;
  } else if (model == CameraModel::full_opencv) {
    kind_ = Kind::rational;
  } else if (layout.radial_count > 0) {
    kind_ = Kind::polynomial;
  }
}

// With r = sqrt(s): d(r g)/dr has the sign of a polynomial in s.
bool Distortion::monotone(double s) const {
  switch (kind_) {
    case Kind::none:
      return true;
    case Kind::polynomial:
      return positive_up_to<3>({1, 3 * k_[0], 5 * k_[1]}, s);
    case Kind::fisheye:
      return fisheye_monotone(std::atan(std::sqrt(s)));
    case Kind::rational:
      break;
  }
  // g = N / D: no pole on the way, and (N + 2 s N') D - 2 s N D' > 0.
  const std::array<double, 4> n = {1, k_[0], k_[1], k_[2]};
  const std::array<double, 4> d = {1, k_[3], k_[4], k_[5]};
  std::array<double, 7> growth{};
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) growth[i + j] += (1 + 2 * i - 2 * j) * n[i] * d[j];
  }
  return positive_up_to(d, s) && positive_up_to(growth, s);
}

bool Distortion::fisheye_monotone(double angle) const {
  return positive_up_to<5>({1, 3 * k_[0], 5 * k_[1], 7 * k_[2], 9 * k_[3]}, angle * angle);
}

void Distortion::rational_scale(Distorted* d) const {
  const auto [n, n_slope] = evaluate<3>(&k_[0], d->s);
  const auto [m, m_slope] = evaluate<3>(&k_[3], d->s);
  d->denominator = m;
  d->scale = n / m;
  d->slope = (n_slope - d->scale * m_slope) / m;
}

void Distortion::fisheye_scale(Distorted* d) const {
  const double s = d->s;
  double ratio;  // t / sqrt(s) and its derivative by s; as series where the quotients lose digits
  double ratio_slope;
  if (s < 1e-5) {
    ratio = 1 - s * (1.0 / 3 - s * (1.0 / 5 - s / 7));
    ratio_slope = -1.0 / 3 + s * (2.0 / 5 - s * 3 / 7);
  } else {
    const double r = std::sqrt(s);
    ratio = std::atan(r) / r;
    ratio_slope = (1 / (1 + s) - ratio) / (2 * s);
  }
  const auto [value, slope] = evaluate<4>(&k_[0], s * ratio * ratio);
  d->angle_ratio = ratio;
  d->scale = ratio * value;
  d->slope = ratio_slope * value + ratio * slope * ratio / (1 + s);
}

std::optional<Distorted> Distortion::distort(const Eigen::Vector2d& plane) const {
  Distorted d;
  d.s = plane.squaredNorm();
  if (!std::isfinite(d.s) || !monotone(d.s)) return std::nullopt;
  switch (kind_) {
    case Kind::none:
      d.point = plane;
      return d;
    case Kind::polynomial: {
      const auto [value, slope] = evaluate<2>(&k_[0], d.s);
      d.scale = value;
      d.slope = slope;
      break;
    }
    case Kind::rational:
      rational_scale(&d);
      break;
    case Kind::fisheye:
      fisheye_scale(&d);
      break;
  }
  d.point = d.scale * plane;
  if (tangential_) {
    d.point += by_tangential(plane) * Eigen::Vector2d(p1_, p2_);
    // The tangential terms fold the plane as well, far out: seen by a mirrored neighbourhood, or,
    // one fold further, by a point on the other side of the centre.
    if (!(by_plane(plane, d).determinant() > 0) || d.point.dot(plane) < 0) return std::nullopt;
  }
  return d;
}

Eigen::Matrix2d Distortion::by_plane(const Eigen::Vector2d& plane, const Distorted& d) const {
  Eigen::Matrix2d jacobian = (2 * d.slope) * plane * plane.transpose();
  jacobian.diagonal().array() += d.scale;
  if (tangential_) {
    const double u = plane.x();
    const double v = plane.y();
    const double mixed = 2 * (p1_ * u + p2_ * v);
    jacobian(0, 0) += 2 * p1_ * v + 6 * p2_ * u;
    jacobian(0, 1) += mixed;
    jacobian(1, 0) += mixed;
    jacobian(1, 1) += 6 * p1_ * v + 2 * p2_ * u;
  }
  return jacobian;
}

Eigen::Vector2d Distortion::by_radial(int i, const Eigen::Vector2d& plane,
                                      const Distorted& d) const {
  double factor = 0;
  if (kind_ == Kind::fisheye) {
    factor = d.angle_ratio * power(d.s * d.angle_ratio * d.angle_ratio, i + 1);
  } else if (i < 3) {
    factor = power(d.s, i + 1) / d.denominator;
  } else {
    factor = -d.scale * power(d.s, i - 2) / d.denominator;
  }
  return factor * plane;
}

Eigen::Matrix2d Distortion::by_tangential(const Eigen::Vector2d& plane) {
  const double s = plane.squaredNorm();
  const double mixed = 2 * plane.x() * plane.y();
  Eigen::Matrix2d jacobian;
  jacobian << mixed, s + 2 * plane.x() * plane.x(), s + 2 * plane.y() * plane.y(), mixed;
  return jacobian;
}

std::optional<Eigen::Vector3d> Distortion::ray(const Eigen::Vector2d& distorted) const {
  if (!distorted.allFinite()) return std::nullopt;
  if (kind_ == Kind::fisheye) {
    const double radius = distorted.norm();
    const auto angle = fisheye_angle(radius);
    if (!angle) return std::nullopt;
    if (radius == 0) return Eigen::Vector3d::UnitZ();
    const Eigen::Vector2d across = distorted * (std::sin(*angle) / radius);
    return Eigen::Vector3d(across.x(), across.y(), std::cos(*angle));
  }
  const auto plane = plane_of(distorted);
  if (!plane) return std::nullopt;
  return plane->homogeneous().normalized();
}

// Newton's method, each step halved until it brings the distorted point nearer and stays where the
// distortion is monotone.
std::optional<Eigen::Vector2d> Distortion::plane_of(const Eigen::Vector2d& distorted) const {
  if (kind_ == Kind::none) return distorted;
  Eigen::Vector2d plane = distorted;
  auto here = distort(plane);
  for (int i = 0; !here && i < kHalvings; ++i) here = distort(plane /= 2);
  if (!here) return std::nullopt;
  for (int step = 0; step < kSteps; ++step) {
    const Eigen::Vector2d residual = distorted - here->point;
    if (residual.norm() <= kRounding * (1 + distorted.norm())) break;
    Eigen::Vector2d move = by_plane(plane, *here).inverse() * residual;
    bool nearer = false;
    for (int i = 0; i < kHalvings && !nearer; ++i) {
      const auto there = distort(plane + move);
      nearer = there && (distorted - there->point).squaredNorm() < residual.squaredNorm();
      if (nearer) {
        plane += move;
        here = there;
      }
      move /= 2;
    }
    if (!nearer) break;
  }
  const double off = (distorted - here->point).norm();
  if (!(off <= kAgreement * (1 + distorted.norm()))) return std::nullopt;
  return plane;
}

// The angle off the axis whose distorted radius is given, up to pi: Newton's method kept within a
// bracket that bisection shrinks.
std::optional<double> Distortion::fisheye_angle(double radius) const {
  double low = 0;
  double high = std::numbers::pi;
  double angle = std::min(radius, high);
  for (int step = 0; step < 2 * kSteps; ++step) {
    double next = 0;
    if (!fisheye_monotone(angle)) {
      high = angle;
      next = (low + high) / 2;
    } else {
      const auto [value, slope] = evaluate<4>(&k_[0], angle * angle);
      const double off = angle * value - radius;
      if (std::abs(off) <= 1e-16 * radius) return angle;
      (off < 0 ? low : high) = angle;
      next = angle - off / (value + 2 * angle * angle * slope);
      if (!(next > low && next < high)) next = (low + high) / 2;
    }
    if (next == angle) break;
    angle = next;
  }
  const double off = angle * evaluate<4>(&k_[0], angle * angle).value - radius;
  if (!fisheye_monotone(angle) || !(std::abs(off) <= kAgreement * (1 + radius))) {
    return std::nullopt;
  }
  return angle;
}

}  // namespace skyfix::internal
