#include "skyfix/solve/covariance.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>

namespace skyfix::solve {
namespace {

// Unknowns of a frame: its view and, where refined, the log of its focal factor.
using FrameJacobian = Eigen::Matrix<double, 2, Eigen::Dynamic, 0, 2, 7>;

struct Row {
  Eigen::Vector2d residual;  // in sigmas
  FrameJacobian by_frame;
  Matrix23 by_point;
};

std::optional<Row> row_of(const BundleProblem& problem, const BundleFrame& frame,
                          const Observation& observation) {
  const std::optional<Linearised> seen =
      linearise(frame.camera, frame.view, problem.point(observation));
  if (!seen) return std::nullopt;
  const double per_px = 1 / observation.sigma_px;
  Row row;
  row.residual = per_px * (seen->pixel - observation.pixel);
  row.by_point = per_px * seen->by_point;
  row.by_frame.resize(2, problem.refine_focal ? 7 : 6);
  row.by_frame.leftCols<6>() = per_px * seen->by_view;
  if (problem.refine_focal) {
    row.by_frame.col(6) = per_px * (seen->pixel - frame.camera.principal_point());
  }
  return row;
}

// Normal matrix with the shared points still in it, each coupled to the frames that see it.
struct Normal {
  Eigen::MatrixXd frames;
  std::vector<Eigen::Matrix3d> points;
  std::vector<Eigen::MatrixXd> couplings;  // unknowns of the frames x 3
  double squared_influence = 0;            // sum of s w^2: of psi, squared
  double slope = 0;                        // sum of w^2: of psi', its mean over directions
  double squared_slope = 0;                // sum of psi'^2, its mean over directions
  std::size_t observations = 0;
};

Normal normal_matrix(const BundleProblem& problem) {
  const Eigen::Index each = problem.refine_focal ? 7 : 6;
  const Eigen::Index size = each * static_cast<Eigen::Index>(problem.frames.size());
  const double scale_squared = problem.loss_scale * problem.loss_scale;
  Normal out;
  out.frames = Eigen::MatrixXd::Zero(size, size);
  out.points.assign(problem.shared_points.size(), Eigen::Matrix3d::Zero());
  out.couplings.assign(problem.shared_points.size(), Eigen::MatrixXd::Zero(size, 3));
  for (std::size_t f = 0; f < problem.frames.size(); ++f) {
    const Eigen::Index first = each * static_cast<Eigen::Index>(f);
    for (const Observation& observation : problem.frames[f].observations) {
      const std::optional<Row> row = row_of(problem, problem.frames[f], observation);
      if (!row) continue;
      const double squared = row->residual.squaredNorm();
      const double weight = 1 / (1 + squared / scale_squared);
      out.squared_influence += squared * weight * weight;
      // psi' is w across the residual and w^2 (1 - s / c^2) along it.
      const double along = weight * weight * (1 - squared / scale_squared);
      out.slope += weight * weight;
      out.squared_slope += (weight * weight + along * along) / 2;
      ++out.observations;
      out.frames.block(first, first, each, each) += row->by_frame.transpose() * row->by_frame;
      if (observation.shared_point < 0) continue;
      out.points[observation.shared_point] += row->by_point.transpose() * row->by_point;
      out.couplings[observation.shared_point].middleRows(first, each) +=
          row->by_frame.transpose() * row->by_point;
    }
  }
  return out;
}

// Variance of the estimate per unit of (J^T J)^-1; nullopt with too few observations.
std::optional<double> variance_of(const Normal& normal) {
  constexpr double kFewestSpare = 4;
  constexpr double kLeast = 1e-12;  // exact data: a small positive definite answer, not zero
  const double count = static_cast<double>(normal.observations);
  const double unknowns = static_cast<double>(normal.frames.rows());
  const double spare = 2 * count - unknowns;
  if (spare < kFewestSpare) return std::nullopt;
  const double slope = normal.slope / count;
  const double slope_variance = std::max(0.0, normal.squared_slope / count - slope * slope);
  const double correction = 1 + unknowns / (2 * count) * slope_variance / (slope * slope);
  const double asymptotic = normal.squared_influence / spare / (slope * slope);
  const double student = spare / (spare - 2);
  return std::max(kLeast, correction * correction * student * asymptotic);
}

// Eliminates the shared points (Schur complement).
Eigen::MatrixXd information(const BundleProblem& problem, const Normal& normal, double variance) {
  Eigen::MatrixXd out = normal.frames / variance;
  if (problem.shared_points.empty()) return out;
  const double prior = 1 / (problem.point_sigma * problem.point_sigma);
  for (std::size_t p = 0; p < normal.points.size(); ++p) {
    const Eigen::Matrix3d point = normal.points[p] / variance + prior * Eigen::Matrix3d::Identity();
    const Eigen::MatrixXd coupling = normal.couplings[p] / variance;
    out -= coupling * point.ldlt().solve(coupling.transpose());
  }
  return out;
}

}  // namespace

std::optional<Matrix6> last_view_covariance(const BundleProblem& problem) {
  constexpr double kLeastEigenvalue = 1e-11;  // of the matrix scaled to a unit diagonal
  if (problem.frames.empty()) return std::nullopt;
  const Normal normal = normal_matrix(problem);
  const std::optional<double> variance = variance_of(normal);
  if (!variance) return std::nullopt;
  const Eigen::MatrixXd full = information(problem, normal, *variance);
  if (!full.allFinite() || !(full.diagonal().minCoeff() > 0)) return std::nullopt;
  const Eigen::VectorXd scale = full.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd scaled = scale.asDiagonal() * full * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(scaled);
  if (eigen.info() != Eigen::Success || eigen.eigenvalues()[0] < kLeastEigenvalue) {
    return std::nullopt;
  }
  const Eigen::MatrixXd inverse = scale.asDiagonal() * eigen.eigenvectors() *
                                  eigen.eigenvalues().cwiseInverse().asDiagonal() *
                                  eigen.eigenvectors().transpose() * scale.asDiagonal();
  const Eigen::Index first = full.rows() - (problem.refine_focal ? 7 : 6);
  const Matrix6 block = inverse.block<6, 6>(first, first);
  if (!block.allFinite()) return std::nullopt;
  return Matrix6(0.5 * (block + block.transpose()));
}

}  // namespace skyfix::solve
