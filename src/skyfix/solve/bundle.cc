#include "skyfix/solve/bundle.h"

#include <ceres/cost_function.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>
#include <ceres/sized_cost_function.h>
#include <ceres/solver.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {
namespace {

constexpr int kPoseSize = 7;  // centre, then the quaternion R_map_from_cam as x y z w
using PoseBlock = std::array<double, kPoseSize>;
using RowMajor26 = Eigen::Matrix<double, 2, 6, Eigen::RowMajor>;
using RowMajor27 = Eigen::Matrix<double, 2, kPoseSize, Eigen::RowMajor>;
using RowMajor23 = Eigen::Matrix<double, 2, 3, Eigen::RowMajor>;

PoseBlock block_from_view(const View& view) {
  const Eigen::Quaterniond q(view.cam_from_map.transpose());
  return {view.centre.x(), view.centre.y(), view.centre.z(), q.x(), q.y(), q.z(), q.w()};
}

View view_from_block(const double* block) {
  const Eigen::Quaterniond q(block[6], block[3], block[4], block[5]);
  return {q.normalized().toRotationMatrix().transpose(), {block[0], block[1], block[2]}};
}

// The tangent of view.h. Cost functions give their derivatives by the tangent itself, in the first
// six columns, so the manifold's Jacobian is the identity padded with a zero row.
class ViewManifold final : public ceres::Manifold {
 public:
  int AmbientSize() const override { return kPoseSize; }
  int TangentSize() const override { return 6; }

  bool Plus(const double* x, const double* delta, double* x_plus_delta) const override {
    const Eigen::Map<const Eigen::Vector3d> w(delta + 3);
    const Eigen::Quaterniond q(x[6], x[3], x[4], x[5]);
    const Eigen::Quaterniond turned = (rotation_from_vector(w) * q).normalized();
    for (int k = 0; k < 3; ++k) x_plus_delta[k] = x[k] + delta[k];
    Eigen::Map<Eigen::Vector4d>(x_plus_delta + 3) = turned.coeffs();
    return true;
  }

  bool PlusJacobian(const double*, double* jacobian) const override {
    Eigen::Map<Eigen::Matrix<double, kPoseSize, 6, Eigen::RowMajor>>(jacobian).setIdentity();
    return true;
  }

  bool Minus(const double* y, const double* x, double* y_minus_x) const override {
    const Eigen::Quaterniond from(x[6], x[3], x[4], x[5]);
    const Eigen::Quaterniond to(y[6], y[3], y[4], y[5]);
    const Eigen::AngleAxisd turn((to * from.conjugate()).normalized());
    for (int k = 0; k < 3; ++k) y_minus_x[k] = y[k] - x[k];
    Eigen::Map<Eigen::Vector3d>(y_minus_x + 3) = turn.angle() * turn.axis();
    return true;
  }

  bool MinusJacobian(const double*, double* jacobian) const override {
    Eigen::Map<Eigen::Matrix<double, 6, kPoseSize, Eigen::RowMajor>>(jacobian).setIdentity();
    return true;
  }
};

// Reprojection error in units of sigma over the blocks pose, [log focal factor], [point].
class ReprojectionCost final : public ceres::CostFunction {
 public:
  ReprojectionCost(const Camera& camera, const Observation& observation, bool with_focal)
      : camera_(camera), observation_(observation), with_focal_(with_focal) {
    set_num_residuals(2);
    mutable_parameter_block_sizes()->push_back(kPoseSize);
    if (with_focal) mutable_parameter_block_sizes()->push_back(1);
    if (observation.shared_point >= 0) mutable_parameter_block_sizes()->push_back(3);
  }

  bool Evaluate(double const* const* blocks, double* residuals, double** jacobians) const override {
    const int point_block = with_focal_ ? 2 : 1;
    const bool moving = observation_.shared_point >= 0;
    const Eigen::Vector3d point =
        moving ? Eigen::Vector3d(Eigen::Map<const Eigen::Vector3d>(blocks[point_block]))
               : observation_.point;
    // All models are principal point + focal * f(ray): the factor acts on the offset from it.
    const double factor = with_focal_ ? std::exp(*blocks[1]) : 1;
    const std::optional<Linearised> seen = linearise(camera_, view_from_block(blocks[0]), point);
    const Eigen::Vector2d centre = camera_.principal_point();
    const double per_px = 1 / observation_.sigma_px;
    Eigen::Map<Eigen::Vector2d> residual(residuals);
    Linearised used;
    if (seen) {
      const Eigen::Vector2d offset = factor * (seen->pixel - centre);
      residual = per_px * (centre + offset - observation_.pixel);
      used = {per_px * offset, per_px * factor * seen->by_view, per_px * factor * seen->by_point};
    } else {  // a plateau: the step that led here is not worth taking
      residual.setConstant(kUnseenError);
      used = {Eigen::Vector2d::Zero(), Matrix26::Zero(), Matrix23::Zero()};
    }
    if (jacobians == nullptr) return true;
    if (jacobians[0] != nullptr) {
      Eigen::Map<RowMajor27> by_pose(jacobians[0]);
      by_pose << used.by_view, Eigen::Vector2d::Zero();
    }
    if (with_focal_ && jacobians[1] != nullptr) {
      Eigen::Map<Eigen::Vector2d> by_log_focal(jacobians[1]);
      by_log_focal = used.pixel;
    }
    if (moving && jacobians[point_block] != nullptr) {
      Eigen::Map<RowMajor23> by_point(jacobians[point_block]);
      by_point = used.by_point;
    }
    return true;
  }

 private:
  static constexpr double kUnseenError = 1e3;

  const Camera& camera_;
  const Observation& observation_;
  const bool with_focal_;
};

// Distance of a shared point from its place in the map, in units of its sigma.
class PointPriorCost final : public ceres::SizedCostFunction<3, 3> {
 public:
  PointPriorCost(const Eigen::Vector3d& prior, double sigma) : prior_(prior), sigma_(sigma) {}

  bool Evaluate(double const* const* blocks, double* residuals, double** jacobians) const override {
    const Eigen::Map<const Eigen::Vector3d> point(blocks[0]);
    Eigen::Map<Eigen::Vector3d> residual(residuals);
    residual = (point - prior_) / sigma_;
    if (jacobians != nullptr && jacobians[0] != nullptr) {
      Eigen::Map<Eigen::Matrix3d> by_point(jacobians[0]);
      by_point = Eigen::Matrix3d::Identity() / sigma_;
    }
    return true;
  }

 private:
  const Eigen::Vector3d prior_;
  const double sigma_;
};

struct Blocks {
  std::vector<PoseBlock> poses;
  std::vector<double> log_factors;
  std::vector<Eigen::Vector3d> points;
};

Blocks blocks_from(const BundleProblem& problem) {
  Blocks blocks;
  for (const BundleFrame& frame : problem.frames) {
    blocks.poses.push_back(block_from_view(frame.view));
    blocks.log_factors.push_back(0);
  }
  blocks.points = problem.shared_points;
  return blocks;
}

void add_frame(const BundleFrame& frame, const BundleProblem& bundle, double* pose,
               double* log_factor, Blocks* blocks, ceres::Manifold* manifold,
               ceres::LossFunction* loss, ceres::Problem* problem) {
  if (frame.observations.empty()) return;
  problem->AddParameterBlock(pose, kPoseSize, manifold);
  if (bundle.refine_focal) {
    constexpr double kFarthest = 0.7;  // half to twice the given focal length
    problem->AddParameterBlock(log_factor, 1);
    problem->SetParameterLowerBound(log_factor, 0, -kFarthest);
    problem->SetParameterUpperBound(log_factor, 0, kFarthest);
  }
  std::vector<double*> parameters;
  for (const Observation& observation : frame.observations) {
    parameters = {pose};
    if (bundle.refine_focal) parameters.push_back(log_factor);
    if (observation.shared_point >= 0) {
      parameters.push_back(blocks->points[observation.shared_point].data());
    }
    problem->AddResidualBlock(new ReprojectionCost(frame.camera, observation, bundle.refine_focal),
                              loss, parameters);
  }
}

ceres::Solver::Options solver_options(bool shared_points) {
  ceres::Solver::Options options;
  options.linear_solver_type = shared_points ? ceres::DENSE_SCHUR : ceres::DENSE_NORMAL_CHOLESKY;
  options.max_num_iterations = 30;
  options.function_tolerance = 1e-10;
  options.parameter_tolerance = 1e-12;
  options.gradient_tolerance = 1e-14;
  options.num_threads = 1;
  options.logging_type = ceres::SILENT;
  return options;
}

}  // namespace

double fitting_loss_scale(const BundleProblem& problem, double least_scale) {
  constexpr double kMedianOfUnitSpread = 1.1774;  // of a length with two unit normal components
  std::vector<double> errors;
  for (const BundleFrame& frame : problem.frames) {
    for (const Observation& observation : frame.observations) {
      const double squared =
          squared_error_px(frame.camera, frame.view, problem.point(observation), observation.pixel);
      errors.push_back(std::sqrt(squared) / observation.sigma_px);
    }
  }
  const double spread = median(std::move(errors)) / kMedianOfUnitSpread;
  return least_scale * (std::isfinite(spread) ? std::max(1.0, spread) : 1.0);
}

bool adjust(BundleProblem* bundle) {
  Blocks blocks = blocks_from(*bundle);
  ViewManifold manifold;
  ceres::CauchyLoss loss(bundle->loss_scale);
  ceres::Problem::Options ownership;
  ownership.manifold_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(ownership);
  for (std::size_t f = 0; f < bundle->frames.size(); ++f) {
    add_frame(bundle->frames[f], *bundle, blocks.poses[f].data(), &blocks.log_factors[f], &blocks,
              &manifold, &loss, &problem);
  }
  for (std::size_t p = 0; p < blocks.points.size(); ++p) {
    problem.AddResidualBlock(new PointPriorCost(bundle->prior_points[p], bundle->point_sigma),
                             nullptr, blocks.points[p].data());
  }
  if (problem.NumResidualBlocks() == 0) return false;
  ceres::Solver::Summary summary;
  ceres::Solve(solver_options(!blocks.points.empty()), &problem, &summary);
  if (!summary.IsSolutionUsable()) return false;
  for (const PoseBlock& pose : blocks.poses) {
    if (!view_from_block(pose.data()).finite()) return false;
  }
  for (std::size_t f = 0; f < bundle->frames.size(); ++f) {
    bundle->frames[f].view = view_from_block(blocks.poses[f].data());
    bundle->frames[f].camera =
        with_focal_factor(bundle->frames[f].camera, std::exp(blocks.log_factors[f]));
  }
  bundle->shared_points = std::move(blocks.points);
  return true;
}

Camera with_focal_factor(const Camera& camera, double factor) {
  Camera out = camera;
  out.params[0] *= factor;
  const bool two_focals = camera.model != CameraModel::simple_pinhole &&
                          camera.model != CameraModel::simple_radial &&
                          camera.model != CameraModel::radial;
  if (two_focals) out.params[1] *= factor;
  return out;
}

}  // namespace skyfix::solve
