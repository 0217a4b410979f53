// Where the cameras are: a lawn-mower flight for the map and an off-path flight of queries.
#pragma once

#include "skyfix/simulate/simulate.h"

namespace skyfix::sim {

// What the photos' EXIF says.
inline constexpr const char* kCameraMake = "SKYFIX";
inline constexpr const char* kCameraModel = "SIM1";

// 36 mm of film over a 27 mm lens: f = 0.75 widths, with a little barrel distortion.
Camera flight_camera(const SimulateOptions& options);

// Everything but the model. Heights are above the mean ground, which has height 0.
SimulatedFlight plan_flight(const SimulateOptions& options);

// Half sizes, east and north, of the box of the map photos' centres.
Eigen::Vector2d map_half_extent_m(const SimulateOptions& options);

}  // namespace skyfix::sim
