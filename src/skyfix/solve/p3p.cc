#include "skyfix/solve/p3p.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace skyfix::solve {
namespace {

// The law of cosines for the three pairs: l_i^2 + l_j^2 - 2 cosine l_i l_j = distance squared.
struct Triangle {
  static constexpr int kEnds[3][2] = {{0, 1}, {0, 2}, {1, 2}};
  std::array<double, 3> cosine;
  std::array<double, 3> squared;  // distances squared over the largest of them

  Eigen::Matrix3d form(int k) const {
    Eigen::Matrix3d m = Eigen::Matrix3d::Zero();
    const auto [i, j] = kEnds[k];
    m(i, i) = m(j, j) = 1;
    m(i, j) = m(j, i) = -cosine[k];
    return m;
  }
};

Eigen::Matrix3d adjugate(const Eigen::Matrix3d& symmetric) {
  Eigen::Matrix3d out;
  out.col(0) = symmetric.col(1).cross(symmetric.col(2));
  out.col(1) = symmetric.col(2).cross(symmetric.col(0));
  out.col(2) = symmetric.col(0).cross(symmetric.col(1));
  return out;
}

// Real roots of x^3 + c2 x^2 + c1 x + c0; returns their number, 1 or 3.
int cubic_roots(double c2, double c1, double c0, std::array<double, 3>* roots) {
  const double shift = c2 / 3;
  const double p = c1 - c2 * shift;
  const double q = c0 - c1 * shift + 2 * shift * shift * shift;
  const double discriminant = q * q / 4 + p * p * p / 27;
  int count = 1;
  if (discriminant > 0) {
    const double u = -std::cbrt(q / 2 + std::copysign(std::sqrt(discriminant), q));
    (*roots)[0] = u - (u == 0 ? 0 : p / (3 * u)) - shift;
  } else {
    count = 3;
    const double radius = 2 * std::sqrt(std::max(0.0, -p / 3));
    const double cosine = radius == 0 ? 1 : std::clamp(3 * q / (p * radius), -1.0, 1.0);
    const double angle = std::acos(cosine) / 3;
    for (int k = 0; k < 3; ++k) {
      (*roots)[k] = radius * std::cos(angle - 2 * std::numbers::pi * k / 3) - shift;
    }
  }
  for (int k = 0; k < count; ++k) {
    double& x = (*roots)[k];
    for (int step = 0; step < 2; ++step) {
      const double slope = (3 * x + 2 * c2) * x + c1;
      if (std::abs(slope) > 1e-12) x -= (((x + c2) * x + c1) * x + c0) / slope;
    }
  }
  return count;
}

// Two conics a, b of the pencil, b the better conditioned: any pair spans the same pencil, and a
// leading coefficient near zero would throw the cubic's roots to infinity.
std::pair<Eigen::Matrix3d, Eigen::Matrix3d> pencil(const Triangle& triangle) {
  const Eigen::Matrix3d m[3] = {triangle.form(0), triangle.form(1), triangle.form(2)};
  const Eigen::Matrix3d d1 = triangle.squared[2] * m[0] - triangle.squared[0] * m[2];
  const Eigen::Matrix3d d2 = triangle.squared[2] * m[1] - triangle.squared[1] * m[2];
  const std::pair<Eigen::Matrix3d, Eigen::Matrix3d> choices[] = {
      {d1, d2}, {d2, d1}, {d1 - d2, d1 + d2}, {d1 + d2, d1 - d2}};
  int best = 0;
  double best_condition = -1;
  for (int k = 0; k < 4; ++k) {
    const Eigen::Matrix3d& b = choices[k].second;
    const double condition = std::abs(b.determinant()) / (std::pow(b.norm(), 3) + 1e-300);
    if (condition > best_condition) {
      best_condition = condition;
      best = k;
    }
  }
  return choices[best];
}

// The member of the pencil a + x b that splits into two real lines most clearly.
Eigen::Matrix3d degenerate_conic(const Eigen::Matrix3d& a, const Eigen::Matrix3d& b) {
  const double lead = b.determinant();
  if (lead == 0) return b;  // every member is degenerate
  const double c2 = (adjugate(b) * a).trace() / lead;
  const double c1 = (adjugate(a) * b).trace() / lead;
  std::array<double, 3> roots;
  const int count = cubic_roots(c2, c1, a.determinant() / lead, &roots);
  Eigen::Matrix3d best = b;
  double best_split = std::numeric_limits<double>::infinity();
  for (int k = 0; k < count; ++k) {
    const Eigen::Matrix3d conic = a + roots[k] * b;
    const double split = adjugate(conic).trace() / (conic.squaredNorm() + 1e-300);
    if (split < best_split) {
      best_split = split;
      best = conic;
    }
  }
  return best;
}

// The two lines l, m with conic ~ l m^T + m l^T (Richter-Gebert, Perspectives on Projective
// Geometry, section 11.1): adding the cross matrix of their meeting point leaves rank one.
std::pair<Eigen::Vector3d, Eigen::Vector3d> split_lines(const Eigen::Matrix3d& conic) {
  const Eigen::Matrix3d adjoint = adjugate(conic);
  int i = 0;
  adjoint.diagonal().cwiseAbs().maxCoeff(&i);
  Eigen::Matrix3d rank_one = conic;
  if (adjoint(i, i) < 0) {
    const Eigen::Vector3d p = adjoint.col(i) / std::sqrt(-adjoint(i, i));
    rank_one(0, 1) -= p.z();
    rank_one(0, 2) += p.y();
    rank_one(1, 0) += p.z();
    rank_one(1, 2) -= p.x();
    rank_one(2, 0) -= p.y();
    rank_one(2, 1) += p.x();
  }
  Eigen::Index row = 0;
  Eigen::Index column = 0;
  rank_one.cwiseAbs().maxCoeff(&row, &column);
  return {rank_one.row(row).transpose(), rank_one.col(column)};
}

// Directions of the depths where the plane line . depths = 0 meets the conic; returns 0 or 2.
int meet(const Eigen::Vector3d& line, const Eigen::Matrix3d& conic, Eigen::Vector3d depths[2]) {
  const Eigen::Vector3d u = line.unitOrthogonal();
  const Eigen::Vector3d v = line.cross(u).normalized();
  const double uu = u.dot(conic * u);
  const double uv = u.dot(conic * v);
  const double vv = v.dot(conic * v);
  const double discriminant = uv * uv - uu * vv;
  if (discriminant < -1e-9 * (uv * uv + std::abs(uu * vv))) return 0;
  const double h = -(uv + std::copysign(std::sqrt(std::max(0.0, discriminant)), uv));
  depths[0] = h * u + uu * v;
  depths[1] = vv * u + h * v;
  return 2;
}

// Scales a direction of depths to the triangle and polishes it by Newton's method. False when it is
// not a solution with positive depths.
bool settle_depths(const Triangle& triangle, Eigen::Vector3d* depths) {
  Eigen::Vector3d& l = *depths;
  if (l.sum() < 0) l = -l;
  if (!(l.minCoeff() > 0)) return false;
  double measured = 0;
  double wanted = 0;
  for (int k = 0; k < 3; ++k) {
    measured += l.dot(triangle.form(k) * l);
    wanted += triangle.squared[k];
  }
  if (!(measured > 0)) return false;
  l *= std::sqrt(wanted / measured);
  double worst = 0;
  for (int step = 0; step < 4; ++step) {
    Eigen::Vector3d residual;
    Eigen::Matrix3d jacobian;
    for (int k = 0; k < 3; ++k) {
      const Eigen::Vector3d gradient = triangle.form(k) * l;
      residual[k] = l.dot(gradient) - triangle.squared[k];
      jacobian.row(k) = 2 * gradient.transpose();
    }
    worst = residual.cwiseAbs().maxCoeff();
    if (worst < 1e-14) break;
    Eigen::Matrix3d inverse;
    bool invertible = false;
    jacobian.computeInverseWithCheck(inverse, invertible, 1e-14);
    if (!invertible) break;
    l -= inverse * residual;
  }
  return worst < 1e-7 && l.minCoeff() > 0 && l.allFinite();
}

bool make_triangle(const std::array<Eigen::Vector3d, 3>& rays,
                   const std::array<Eigen::Vector3d, 3>& points, Triangle* out, double* largest) {
  constexpr double kLeastSine = 1e-7;  // between rays
  constexpr double kLeastArea = 1e-6;  // twice the area over the longest side squared
  *largest = 0;
  for (int k = 0; k < 3; ++k) {
    const auto [i, j] = Triangle::kEnds[k];
    if (!(rays[i].cross(rays[j]).norm() > kLeastSine)) return false;
    out->cosine[k] = rays[i].dot(rays[j]);
    out->squared[k] = (points[i] - points[j]).squaredNorm();
    *largest = std::max(*largest, out->squared[k]);
  }
  const double area = (points[1] - points[0]).cross(points[2] - points[0]).norm();
  if (!(*largest > 0) || !(area > kLeastArea * *largest)) return false;
  for (double& squared : out->squared) squared /= *largest;
  return true;
}

Eigen::Matrix3d edge_frame(const Eigen::Vector3d& a, const Eigen::Vector3d& b,
                           const Eigen::Vector3d& c) {
  Eigen::Matrix3d frame;
  frame.col(0) = b - a;
  frame.col(1) = c - a;
  frame.col(2) = frame.col(0).cross(frame.col(1));
  return frame;
}

}  // namespace

int solve_p3p(const std::array<Eigen::Vector3d, 3>& rays,
              const std::array<Eigen::Vector3d, 3>& points, std::array<View, 4>* views) {
  Triangle triangle;
  double largest = 0;
  if (!make_triangle(rays, points, &triangle, &largest)) return 0;
  const auto [a, b] = pencil(triangle);
  const auto [first, second] = split_lines(degenerate_conic(a, b));
  const Eigen::Matrix3d edges_inverse = edge_frame(points[0], points[1], points[2]).inverse();
  const double scale = std::sqrt(largest);
  int count = 0;
  for (const Eigen::Vector3d& line : {first, second}) {
    Eigen::Vector3d depths[2];
    const int met = meet(line, b, depths);
    for (int k = 0; k < met; ++k) {
      if (!settle_depths(triangle, &depths[k])) continue;
      const Eigen::Vector3d seen[3] = {scale * depths[k][0] * rays[0],
                                       scale * depths[k][1] * rays[1],
                                       scale * depths[k][2] * rays[2]};
      const Eigen::Matrix3d turn = edge_frame(seen[0], seen[1], seen[2]) * edges_inverse;
      View view;
      view.cam_from_map = Eigen::Quaterniond(turn).normalized().toRotationMatrix();
      view.centre = points[0] - view.cam_from_map.transpose() * seen[0];
      if (view.finite()) (*views)[count++] = view;
    }
  }
  return count;
}

}  // namespace skyfix::solve
