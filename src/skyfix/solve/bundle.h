// Bundle adjustment of one or several views over known points (Ceres).
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <vector>

#include "skyfix/solve/view.h"

namespace skyfix::solve {

struct Observation {
  Eigen::Vector2d pixel;
  Eigen::Vector3d point;  // map units; of a shared point: see BundleProblem
  double sigma_px = 1;
  int shared_point = -1;  // place in BundleProblem::shared_points, or -1: the point is fixed
};

struct BundleFrame {
  Camera camera;
  View view;
  std::vector<Observation> observations;
};

struct BundleProblem {
  std::vector<BundleFrame> frames;
  std::vector<Eigen::Vector3d> shared_points;  // moved by adjust()
  std::vector<Eigen::Vector3d> prior_points;   // where the map has them
  double point_sigma = 0;                      // of the prior, map units
  double loss_scale = 1;                       // Cauchy, in units of sigma_px
  bool refine_focal = false;                   // one factor a frame on its focal lengths

  const Eigen::Vector3d& point(const Observation& observation) const {
    return observation.shared_point < 0 ? observation.point
                                        : shared_points[observation.shared_point];
  }
};

// The scale of the robust loss for residuals as they are now: `least_scale` sigmas, and in
// proportion more where their spread (by the median) exceeds what sigma_px promises. A scale far
// inside the residuals would let the few pairs that happen to agree decide.
double fitting_loss_scale(const BundleProblem& problem, double least_scale);

// Minimises the robust reprojection error, and the prior, over views, shared points and focal
// factors, in place. False, and the problem as it was, when the solver gave nothing usable.
bool adjust(BundleProblem* problem);

// The camera with its focal lengths times `factor`.
Camera with_focal_factor(const Camera& camera, double factor);

}  // namespace skyfix::solve
