#include "skyfix/report/trajectory_evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <random>

#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using ::testing::HasSubstr;

Trajectory random_path(int poses, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> any;
  Trajectory path;
  path.kind = TrajectoryKind::reconstruction;
  Rigid3 pose;
  for (int i = 0; i < poses; ++i) {
    pose.translation += Eigen::Vector3d(any(random), any(random), 0.3 * any(random));
    pose.rotation =
        Eigen::Quaterniond(any(random), any(random), any(random), any(random)).normalized();
    path.poses.push_back({"f" + std::to_string(i), i * 0.1, pose});
  }
  return path;
}

Trajectory moved(const Trajectory& path, const Similarity3& similarity) {
  Trajectory result = path;
  for (TrajectoryPose& pose : result.poses) {
    pose.world_from_cam = {similarity.rotation * pose.world_from_cam.rotation,
                           similarity * pose.world_from_cam.translation};
  }
  return result;
}

Trajectory disturbed(Trajectory path, double size, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> any(0, size);
  for (TrajectoryPose& pose : path.poses) {
    pose.world_from_cam.translation += Eigen::Vector3d(any(random), any(random), any(random));
    pose.world_from_cam.rotation =
        pose.world_from_cam.rotation *
        Eigen::Quaterniond(Eigen::AngleAxisd(any(random), Eigen::Vector3d::UnitX()));
  }
  return path;
}

const Similarity3 kMove{
    2.5,
    Eigen::Quaterniond(Eigen::AngleAxisd(1.1, Eigen::Vector3d(1, 2, -1).normalized())),
    {10, -20, 30}};

TEST(TrajectoryEvaluation, FindsTheSimilarityOfAnUndisturbedPath) {
  const Trajectory path = random_path(30, 1);
  const TrajectoryEvaluation evaluation =
      evaluate_trajectory(path, moved(path, kMove), Alignment::sim3, {});
  EXPECT_NEAR(evaluation.reference_from_estimate.scale, 2.5, 1e-12);
  EXPECT_LT(error_statistics(evaluation.ate).max, 1e-12);
  EXPECT_LT(error_statistics(evaluation.ate_rotation_deg).max, 1e-12);
  EXPECT_LT(error_statistics(evaluation.rpe).max, 1e-12);
  EXPECT_EQ(evaluation.rpe.size(), 29u);
}

// Horn's closed form by the largest eigenvector of a 4x4 matrix: another way to the same rotation.
Eigen::Quaterniond horn(const Trajectory& a, const Trajectory& b) {
  Eigen::Vector3d mean_a = Eigen::Vector3d::Zero();
  Eigen::Vector3d mean_b = Eigen::Vector3d::Zero();
  const auto n = static_cast<double>(a.poses.size());
  for (std::size_t i = 0; i < a.poses.size(); ++i) {
    mean_a += a.poses[i].world_from_cam.translation / n;
    mean_b += b.poses[i].world_from_cam.translation / n;
  }
  Eigen::Matrix3d s = Eigen::Matrix3d::Zero();
  for (std::size_t i = 0; i < a.poses.size(); ++i) {
    s += (a.poses[i].world_from_cam.translation - mean_a) *
         (b.poses[i].world_from_cam.translation - mean_b).transpose();
  }
  Eigen::Matrix4d m;
  m << s.trace(), s(1, 2) - s(2, 1), s(2, 0) - s(0, 2), s(0, 1) - s(1, 0),   //
      0, s(0, 0) - s(1, 1) - s(2, 2), s(0, 1) + s(1, 0), s(2, 0) + s(0, 2),  //
      0, 0, s(1, 1) - s(0, 0) - s(2, 2), s(1, 2) + s(2, 1),                  //
      0, 0, 0, s(2, 2) - s(0, 0) - s(1, 1);
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix4d> solver(m.transpose());
  const Eigen::Vector4d q = solver.eigenvectors().col(3);
  return {q[0], q[1], q[2], q[3]};
}

// tests/trajectory_tools_test.py compares with evo.
TEST(TrajectoryEvaluation, AlignmentIsTheLeastSquares) {
  const Trajectory path = random_path(40, 2);
  const Trajectory truth = disturbed(moved(path, kMove), 0.4, 3);
  const TrajectoryEvaluation best = evaluate_trajectory(path, truth, Alignment::sim3, {});
  EXPECT_LT(rotation_angle(horn(path, truth), best.reference_from_estimate.rotation), 1e-12);
  const double rmse = error_statistics(best.ate).rmse;
  for (int axis = 0; axis < 7; ++axis) {
    for (const double sign : {-1e-4, 1e-4}) {
      Similarity3 other = best.reference_from_estimate;
      if (axis < 3) other.translation[axis] += sign;
      if (axis >= 3 && axis < 6) {
        other.rotation =
            Eigen::Quaterniond(Eigen::AngleAxisd(sign, Eigen::Vector3d::Unit(axis - 3))) *
            other.rotation;
      }
      if (axis == 6) other.scale *= 1 + sign;
      const auto worse = evaluate_trajectory(moved(path, other), truth, Alignment::none, {});
      EXPECT_GT(error_statistics(worse.ate).rmse, rmse);
    }
  }
  const TrajectoryEvaluation rigid = evaluate_trajectory(path, truth, Alignment::se3, {});
  EXPECT_EQ(rigid.reference_from_estimate.scale, 1);
  EXPECT_LT(rotation_angle(horn(path, truth), rigid.reference_from_estimate.rotation), 1e-12);
  EXPECT_GT(error_statistics(rigid.ate).rmse, rmse);
  EXPECT_THAT(rigid.warnings, ::testing::Contains(HasSubstr("arbitrary")));
}

TEST(TrajectoryEvaluation, ErrorsAreWhatTheyAreCalled) {
  Trajectory truth = random_path(4, 4);
  Trajectory path = truth;
  path.poses[1].world_from_cam.translation.x() += 3;
  path.poses[2].world_from_cam.rotation =
      path.poses[2].world_from_cam.rotation *
      Eigen::Quaterniond(Eigen::AngleAxisd(0.5, Eigen::Vector3d::UnitY()));
  const TrajectoryEvaluation e = evaluate_trajectory(path, truth, Alignment::none, {});
  EXPECT_THAT(e.ate,
              ::testing::Pointwise(::testing::DoubleNear(1e-9), std::vector<double>{0, 3, 0, 0}));
  EXPECT_NEAR(e.ate_rotation_deg[2], 28.6478897565, 1e-9);
  EXPECT_NEAR(e.rpe[0], 3, 1e-9);
  EXPECT_NEAR(e.rpe[1], 3, 1e-9);
  EXPECT_NEAR(e.rpe_rotation_deg[1], 28.6478897565, 1e-9);
  EXPECT_NEAR(e.rpe_rotation_deg[2], 28.6478897565, 1e-9);
  // The last step is seen from a camera that is turned.
  EXPECT_GT(e.rpe[2], 0.01);
}

TEST(TrajectoryEvaluation, StatisticsOfFourNumbers) {
  const ErrorStatistics s = error_statistics({4, 1, 3, 2});
  EXPECT_EQ(s.median, 2.5);
  EXPECT_EQ(s.mean, 2.5);
  EXPECT_NEAR(s.rmse, std::sqrt(7.5), 1e-15);
  EXPECT_NEAR(s.std, std::sqrt(1.25), 1e-15);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 4);
  EXPECT_EQ(error_statistics({}).count, 0u);
}

TEST(TrajectoryEvaluation, LinesAndPairsCannotBeAligned) {
  Trajectory line;
  for (int i = 0; i < 9; ++i) line.poses.push_back({"f" + std::to_string(i), i, {}});
  for (int i = 0; i < 9; ++i) line.poses[i].world_from_cam.translation = {1.0 * i, 2.0 * i, 0};
  for (const Alignment alignment : {Alignment::sim3, Alignment::se3}) {
    EXPECT_EQ(refusal_of([&] { evaluate_trajectory(line, line, alignment, {}); }),
              Reason::bad_reference);
    EXPECT_EQ(refusal_of([&] {
                evaluate_trajectory(random_path(2, 1), random_path(2, 1), alignment, {});
              }),
              Reason::bad_reference);
  }
  EXPECT_EQ(error_statistics(evaluate_trajectory(line, line, Alignment::none, {}).ate).max, 0);
  EXPECT_THROW(alignment_from_name("affine"), Error);
}

TEST(TrajectoryEvaluation, ReportsSayByWhichProtocol) {
  const Trajectory path = random_path(10, 2);
  const Trajectory truth = disturbed(moved(path, kMove), 0.1, 3);
  const auto evaluation = evaluate_trajectory(path, truth, Alignment::sim3, {});
  const Json json = trajectory_evaluation_json(evaluation, path, truth);
  EXPECT_EQ(json["schema"], "skyfix-trajectory-evaluation-1");
  EXPECT_EQ(json["ate"]["rmse"], error_statistics(evaluation.ate).rmse);
  EXPECT_EQ(json["rpe"]["count"], 9);
  EXPECT_EQ(json["per_pose"].size(), 10u);
  EXPECT_EQ(json["protocol"]["alignment"], "sim3");
  EXPECT_EQ(json["protocol"]["associated_by"], "name");
  const std::string table = trajectory_evaluation_table(evaluation, path, truth);
  EXPECT_THAT(table, ::testing::AllOf(HasSubstr("ATE rotation deg"), HasSubstr("alignment sim3"),
                                      HasSubstr("10 of 10 poses (reconstruction)")));
}

}  // namespace
}  // namespace skyfix
