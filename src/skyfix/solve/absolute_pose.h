// The camera's pose from 2D-3D pairs: robust minimal solver safe on exact planes, local
// optimisation, refinement with Ceres, covariance, and figures by which a caller can tell a right
// pose from a lucky one.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "skyfix/geo/camera.h"
#include "skyfix/geo/rigid3.h"

namespace skyfix {

// One 2D-3D pair. Pixels of the picture the camera describes.
struct PointPair {
  Eigen::Vector2d pixel;
  Eigen::Vector3d point;  // map units
  double sigma_px = 1;    // expected noise of the pixel, 1 sigma (feature scale, map point quality)
  double quality = 0;     // larger is tried first (progressive sampling); e.g. score margin
  std::uint32_t group = 0;  // pairs of one map point share a group: they count as one inlier
};

struct PoseOptions {
  double max_error_px = 8;  // inlier threshold of the robust stage
  // Scale of the robust loss (Cauchy), in units of sigma_px; wider where the residuals' own spread
  // exceeds sigma_px. At 2 the estimate is nearly as sharp as least squares on clean pairs, and its
  // covariance right even for 20 of them.
  double refine_scale_px = 2.0;
  int max_iterations = 20000;
  double confidence = 0.9999;
  std::uint64_t seed = 1;
  bool refine_focal = false;  // one factor on the focal lengths
  int min_inliers = 4;
  void validate() const;  // throws Error(bad_option)
};

// Second-best hypothesis: the strongest pose that differs clearly from the best.
struct Alternative {
  Rigid3 cam_from_map;
  int inliers = 0;
  double rms_px = 0;
};

struct PoseEstimate {
  bool found = false;  // finite, enough inliers; says nothing about trust
  Rigid3 cam_from_map;
  Camera camera;                     // with the refined focal length when asked for
  std::vector<std::uint8_t> inlier;  // one per pair
  int inlier_count = 0;              // distinct groups
  double rms_px = 0;                 // over inliers
  double median_error_px = 0;
  bool planar = false;  // the inlier points lie on a plane (to noise)
  std::optional<Alternative> alternative;
  // 6x6, tangent of the pose: camera centre in map units, then rotation vector (map axes, radians,
  // left perturbation R_map_from_cam <- exp(w) R). From the residuals' own spread, not assumed.
  // nullopt when not estimable (rank-deficient).
  std::optional<Eigen::Matrix<double, 6, 6>> covariance_map;
  int iterations = 0;
};

// Never throws on data; too few pairs, collinear points etc. give found = false. Deterministic for
// equal input and seed.
PoseEstimate estimate_pose(std::span<const PointPair> pairs, const Camera& camera,
                           const PoseOptions& options);

// Refines from `initial` over the pairs within max_error_px (robust loss), recomputing inliers.
PoseEstimate refine_pose(std::span<const PointPair> pairs, const Camera& camera,
                         const Rigid3& initial, const PoseOptions& options);

// One frame of a window for joint refinement.
struct WindowFrame {
  Camera camera;
  Rigid3 cam_from_map;
  std::vector<PointPair> pairs;  // inliers; equal `group` in several frames = the same map point
};
// Joint refinement of the last frames: poses free, points shared by at least two frames move within
// a prior of `point_sigma` (map units) around their map position. Returns the newest frame's
// estimate (poses of older frames are refined inside only).
PoseEstimate refine_window(std::span<const WindowFrame> frames, double point_sigma,
                           const PoseOptions& options);

// Evidence for a verdict.
struct PoseEvidence {
  double inlier_ratio = 0;   // inlier groups / all groups
  double coverage = 0;       // share of an 8x8 grid of the picture that holds an inlier
  double hull_fraction = 0;  // area of the inliers' convex hull / picture
  // log10 of the expected number of poses with at least this many inliers among random pairs
  // (a-contrario number of false alarms): strongly negative = not by chance.
  double log10_false_alarms = 0;
};
PoseEvidence pose_evidence(std::span<const PointPair> pairs, const PoseEstimate& estimate,
                           const PoseOptions& options);

}  // namespace skyfix
