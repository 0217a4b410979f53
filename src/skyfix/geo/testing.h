// GoogleTest matchers that print geometry in its own units. For tests only.
#pragma once

#include <gmock/gmock.h>

#include <ostream>

#include "skyfix/geo/rigid3.h"

namespace skyfix {

inline void PrintTo(const Rigid3& pose, std::ostream* out) {
  const auto& q = pose.rotation;
  *out << "q_wxyz (" << q.w() << ", " << q.x() << ", " << q.y() << ", " << q.z() << ") t ("
       << pose.translation.transpose() << ") centre (" << pose.centre().transpose() << ")";
}

// Centres within `metres`, rotations within `degrees`.
MATCHER_P3(PoseNear, expected, metres, degrees,
           "a pose within " + ::testing::PrintToString(metres) + " m and " +
               ::testing::PrintToString(degrees) + " deg of " +
               ::testing::PrintToString(expected)) {
  const double distance = (arg.centre() - expected.centre()).norm();
  const double angle =
      rotation_angle(arg.rotation, expected.rotation) * 180 / 3.14159265358979323846;
  *result_listener << "off by " << distance << " m and " << angle << " deg";
  return distance <= metres && angle <= degrees;
}

// Vectors within `distance` of each other.
MATCHER_P2(VectorNear, expected, distance,
           "a vector within " + ::testing::PrintToString(distance) + " of the expected one") {
  const double off = (arg - expected).norm();
  *result_listener << "(" << arg.transpose() << ") is off by " << off;
  return off <= distance;
}

}  // namespace skyfix
