// Scenes on a plane, and the second pose from which one looks nearly the same.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <span>

#include "skyfix/solve/pair_set.h"

namespace skyfix::solve {

struct Plane {
  Eigen::Vector3d centroid;
  Eigen::Vector3d normal;  // unit
};

// The plane of the points `which`, if their deviation from it moves no pixel beyond the noise: its
// rms, seen side-on at the scene's distance, is at most twice `rms_px` or one pixel.
std::optional<Plane> plane_of(const PairSet& pairs, std::span<const std::uint32_t> which,
                              const Camera& camera, const View& view, double rms_px);

// Where the second minimum of the reprojection error over a plane lies: exactly under weak
// perspective, near it otherwise (the two solutions of Schweighofer and Pinz, PAMI 2006, and of
// Collins and Bartoli, IJCV 2014). The plane keeps its place and is turned to the other side of the
// line of sight to its centroid.
View mirrored_view(const View& view, const Plane& plane);

}  // namespace skyfix::solve
