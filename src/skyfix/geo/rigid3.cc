#include "skyfix/geo/rigid3.h"

#include <Eigen/LU>
#include <Eigen/SVD>
#include <cassert>
#include <cmath>

namespace skyfix {
namespace {

// Below this ratio of the cross-covariance's singular values the pairs lie on a line for all that
// the numbers can tell (1 mm beside a kilometre), and the turn about that line is arbitrary.
constexpr double kLineRatio = 1e-12;

Eigen::Vector3d mean_of(std::span<const Eigen::Vector3d> points) {
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  for (const Eigen::Vector3d& point : points) sum += point;
  return sum / static_cast<double>(points.size());
}

}  // namespace

Similarity3 Similarity3::inverse() const {
  const Eigen::Quaterniond back = rotation.conjugate();
  return {1 / scale, back, -(back * translation) / scale};
}

Similarity3 fit_similarity(std::span<const Eigen::Vector3d> a, std::span<const Eigen::Vector3d> b) {
  assert(a.size() == b.size());
  const Similarity3 none{0, Eigen::Quaterniond::Identity(), Eigen::Vector3d::Zero()};
  if (a.size() < 3 || a.size() != b.size()) return none;
  const Eigen::Vector3d mean_a = mean_of(a);
  const Eigen::Vector3d mean_b = mean_of(b);
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  double variance_a = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Eigen::Vector3d from_mean = a[i] - mean_a;
    covariance += (b[i] - mean_b) * from_mean.transpose();
    variance_a += from_mean.squaredNorm();
  }
  if (!covariance.allFinite() || !(variance_a > 0)) return none;

  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(covariance,
                                              Eigen::ComputeFullU | Eigen::ComputeFullV);
  const Eigen::Vector3d singular = svd.singularValues();
  if (!(singular[1] > kLineRatio * singular[0])) return none;
  // A mirror image fits a plane (and noise) as well as a turn does: the weakest axis is flipped.
  const double sign = (svd.matrixU() * svd.matrixV().transpose()).determinant() < 0 ? -1 : 1;
  const Eigen::Vector3d signs(1, 1, sign);
  const Eigen::Matrix3d turn = svd.matrixU() * signs.asDiagonal() * svd.matrixV().transpose();

  Similarity3 b_from_a;
  b_from_a.scale = singular.dot(signs) / variance_a;
  b_from_a.rotation = Eigen::Quaterniond(turn).normalized();
  b_from_a.translation = mean_b - b_from_a.scale * (b_from_a.rotation * mean_a);
  return b_from_a;
}

double rotation_angle(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b) {
  // By the tangent of the half angle: the arc cosine loses everything below 1e-8.
  const Eigen::Quaterniond between = a.conjugate() * b;
  return 2 * std::atan2(between.vec().norm(), std::abs(between.w()));
}

}  // namespace skyfix
