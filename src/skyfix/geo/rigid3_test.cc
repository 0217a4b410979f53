#include "skyfix/geo/rigid3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "skyfix/geo/testing.h"

namespace skyfix {
namespace {

using Eigen::AngleAxisd;
using Eigen::Quaterniond;
using Eigen::Vector3d;

std::vector<Vector3d> random_points(std::size_t count, double spread, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> along(-spread, spread);
  std::vector<Vector3d> points(count);
  for (Vector3d& point : points) point = {along(random), along(random), along(random)};
  return points;
}

std::vector<Vector3d> moved(const Similarity3& by, const std::vector<Vector3d>& points) {
  std::vector<Vector3d> result;
  for (const Vector3d& point : points) result.push_back(by * point);
  return result;
}

double sum_of_squares(const Similarity3& b_from_a, const std::vector<Vector3d>& a,
                      const std::vector<Vector3d>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (b_from_a * a[i] - b[i]).squaredNorm();
  return sum;
}

Similarity3 some_similarity() {
  return {3.7, Quaterniond(AngleAxisd(2.1, Vector3d(1, -2, 0.5).normalized())),
          Vector3d(400, -30, 12)};
}

Rigid3 some_pose(double angle) {
  return {Quaterniond(AngleAxisd(angle, Vector3d(0.3, 1, -2).normalized())), Vector3d(1, -2, 30)};
}

TEST(Rigid3, CompositionIsOneMotionAfterTheOther) {
  const Rigid3 c_from_b = some_pose(0.7);
  const Rigid3 b_from_a = some_pose(-2.5);
  const Vector3d x(4, 5, -6);
  EXPECT_THAT((c_from_b * b_from_a) * x, VectorNear(c_from_b * (b_from_a * x), 1e-12));
}

TEST(Rigid3, InverseUndoesAndCentreMapsToZero) {
  const Rigid3 cam_from_world = some_pose(1.1);
  EXPECT_THAT(cam_from_world.inverse() * cam_from_world, PoseNear(Rigid3(), 1e-12, 1e-12));
  EXPECT_THAT(cam_from_world * cam_from_world.centre(), VectorNear(Vector3d(0, 0, 0), 1e-12));
  EXPECT_THAT(cam_from_world.inverse().translation, VectorNear(cam_from_world.centre(), 1e-12));
}

TEST(Rigid3, LongChainsStayUnit) {
  Rigid3 chain;
  for (int i = 0; i < 10000; ++i) chain = some_pose(0.01 * i) * chain;
  EXPECT_NEAR(chain.rotation.norm(), 1, 1e-14);
}

TEST(Similarity3, InverseUndoes) {
  const Similarity3 b_from_a = some_similarity();
  const Vector3d x(-7, 8, 9);
  EXPECT_THAT(b_from_a.inverse() * (b_from_a * x), VectorNear(x, 1e-12));
  EXPECT_THAT(b_from_a * (b_from_a.inverse() * x), VectorNear(x, 1e-12));
}

TEST(FitSimilarity, RecoversExactMotion) {
  const Similarity3 truth = some_similarity();
  for (const std::size_t count : {3u, 4u, 50u}) {
    const auto a = random_points(count, 100, 7);
    const Similarity3 fit = fit_similarity(a, moved(truth, a));
    EXPECT_NEAR(fit.scale, truth.scale, 1e-12) << count;
    EXPECT_LT(rotation_angle(fit.rotation, truth.rotation), 1e-13) << count;
    EXPECT_THAT(fit.translation, VectorNear(truth.translation, 1e-10)) << count;
  }
}

TEST(FitSimilarity, PlanarPointsGiveARotationNotAMirror) {
  auto a = random_points(20, 100, 3);
  for (Vector3d& point : a) point.z() = 5;
  const Similarity3 truth = some_similarity();
  const Similarity3 fit = fit_similarity(a, moved(truth, a));
  EXPECT_LT(rotation_angle(fit.rotation, truth.rotation), 1e-13);
  const Vector3d off_plane(1, 2, 50);
  EXPECT_THAT(fit * off_plane, VectorNear(truth * off_plane, 1e-9));
}

TEST(FitSimilarity, MirroredPointsGetTheBestTrueRotation) {
  const auto a = random_points(30, 10, 5);
  auto b = a;
  for (Vector3d& point : b) point.x() = -point.x();
  const Similarity3 fit = fit_similarity(a, b);
  EXPECT_NEAR(fit.rotation.toRotationMatrix().determinant(), 1, 1e-12);
  EXPECT_GT(fit.scale, 0);
  EXPECT_LT(fit.scale, 1);
}

TEST(FitSimilarity, NoNeighbourFitsNoisyPairsBetter) {
  const auto a = random_points(40, 100, 11);
  auto b = moved(some_similarity(), a);
  const auto noise = random_points(40, 4, 12);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] += noise[i];
  const Similarity3 fit = fit_similarity(a, b);
  const double best = sum_of_squares(fit, a, b);
  for (int axis = 0; axis < 3; ++axis) {
    for (const double step : {-1e-4, 1e-4}) {
      Similarity3 other = fit;
      other.rotation = Quaterniond(AngleAxisd(step, Vector3d::Unit(axis))) * fit.rotation;
      EXPECT_GT(sum_of_squares(other, a, b), best);
      other = fit;
      other.translation[axis] += step;
      EXPECT_GT(sum_of_squares(other, a, b), best);
      other = fit;
      other.scale += step;
      EXPECT_GT(sum_of_squares(other, a, b), best);
    }
  }
}

TEST(FitSimilarity, PairsOnALineHaveNoAnswer) {
  std::vector<Vector3d> line;
  for (int i = 0; i < 10; ++i) line.push_back(Vector3d(1, 2, 3) + i * Vector3d(0.3, -0.7, 0.1));
  const auto spread = random_points(10, 5, 1);
  EXPECT_EQ(fit_similarity(line, moved(some_similarity(), line)).scale, 0);
  EXPECT_EQ(fit_similarity(spread, line).scale, 0);
  EXPECT_EQ(fit_similarity(line, spread).scale, 0);
  for (Vector3d& point : line) point += Vector3d(4e6, -8e3, 4.9e6);  // as ECEF
  EXPECT_EQ(fit_similarity(line, moved(some_similarity(), line)).scale, 0);
}

TEST(FitSimilarity, CentimetresBesideALongLineAreEnough) {
  std::vector<Vector3d> track;
  for (int i = 0; i < 20; ++i) track.push_back(Vector3d(50 * i, i % 2 == 0 ? 0.05 : -0.05, 0));
  const Similarity3 truth = some_similarity();
  const Similarity3 fit = fit_similarity(track, moved(truth, track));
  EXPECT_LT(rotation_angle(fit.rotation, truth.rotation), 1e-6);
}

TEST(FitSimilarity, TooFewSameOrBrokenPairsHaveNoAnswer) {
  const auto two = random_points(2, 5, 1);
  const std::vector<Vector3d> same(5, Vector3d(1, 2, 3));
  auto broken = random_points(5, 5, 1);
  broken[2].y() = std::numeric_limits<double>::quiet_NaN();
  const auto good = random_points(5, 5, 2);
  EXPECT_EQ(fit_similarity({}, {}).scale, 0);
  EXPECT_EQ(fit_similarity(two, two).scale, 0);
  EXPECT_EQ(fit_similarity(same, same).scale, 0);
  EXPECT_EQ(fit_similarity(good, same).scale, 0);
  EXPECT_EQ(fit_similarity(same, good).scale, 0);
  EXPECT_EQ(fit_similarity(good, broken).scale, 0);
}

TEST(RotationAngle, IsAccurateFromNothingToHalfATurn) {
  const Quaterniond base(AngleAxisd(0.8, Vector3d(1, 2, 3).normalized()));
  const Vector3d axis = Vector3d(-1, 0.2, 0.4).normalized();
  for (const double angle : {1e-12, 1e-9, 1e-6, 0.3, 2.0, std::numbers::pi - 1e-9}) {
    const Quaterniond other = base * Quaterniond(AngleAxisd(angle, axis));
    EXPECT_NEAR(rotation_angle(base, other), angle, 1e-15 + 1e-3 * std::min(angle, 1e-12));
  }
  EXPECT_EQ(rotation_angle(base, base), 0);
}

TEST(RotationAngle, DoesNotSeeTheQuaternionsSign) {
  const Quaterniond a(AngleAxisd(0.8, Vector3d::UnitX()));
  const Quaterniond b(AngleAxisd(1.0, Vector3d::UnitX()));
  const Quaterniond minus_b(-b.w(), -b.x(), -b.y(), -b.z());
  EXPECT_NEAR(rotation_angle(a, minus_b), 0.2, 1e-15);
  EXPECT_NEAR(rotation_angle(a, b), rotation_angle(b, a), 1e-15);
}

}  // namespace
}  // namespace skyfix
