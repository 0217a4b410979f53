// Pose of a camera from three rays and their points.
#pragma once

#include <Eigen/Core>
#include <array>

#include "skyfix/solve/view.h"

namespace skyfix::solve {

// Up to four views under which `points[i]` lie on `rays[i]` (unit, camera frame), in front of the
// camera; returns their number. The three depths are where two conics meet; a degenerate conic of
// their pencil splits into two lines, each of which meets a conic twice (the reading of P3P given
// by Persson and Nordberg, Lambda Twist, ECCV 2018). The scene's being a plane is nothing special
// to it. No view comes from points on a line or from rays that coincide.
int solve_p3p(const std::array<Eigen::Vector3d, 3>& rays,
              const std::array<Eigen::Vector3d, 3>& points, std::array<View, 4>* views);

}  // namespace skyfix::solve
