// Pictures turned by quarters, and cameras about their axis: learned matchers find nothing when two
// pictures' headings differ by more than some 45 degrees.
#pragma once

#include <Eigen/Core>

#include "skyfix/geo/rigid3.h"

namespace skyfix {

// Where a place of the stored picture (width x height px) lies after turning the picture by
// `quarters` x 90 degrees clockwise, and back. Exact: pixel corners go to pixel corners.
Eigen::Vector2f after_turn(const Eigen::Vector2f& pixel, int quarters, int width, int height);
Eigen::Vector2f before_turn(const Eigen::Vector2f& pixel, int quarters, int width, int height);

// By how much the picture of one camera must be turned clockwise to stand like that of the other,
// -pi..pi: the turn about the viewing axis that is nearest to the whole rotation between them.
double turn_between_rad(const Rigid3& from_cam_from_map, const Rigid3& to_cam_from_map);
// The nearest whole quarter, 0..3.
int quarters_of(double clockwise_rad);

// The same camera with its picture turned by `quarters` clockwise.
Rigid3 turned_camera(const Rigid3& cam_from_map, int quarters);

}  // namespace skyfix
