// The separate similarity that lays a model on the earth. The model's coordinates never change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skyfix/geo/geodesy.h"
#include "skyfix/geo/rigid3.h"

namespace skyfix {

struct Georegistration {
  enum class Kind { none, given_origin, gps_fit };
  Kind kind = Kind::none;
  Similarity3 enu_from_map;  // metres; meaningless when kind is none
  Wgs84 origin;
  AltitudeDatum datum = AltitudeDatum::unknown;
  // gps_fit: how well it lies, over the photos kept by the robust fit.
  int photos_used = 0;
  int photos_rejected = 0;
  double rms_horizontal_m = 0;
  double rms_vertical_m = 0;
  double max_residual_m = 0;

  bool known() const { return kind != Kind::none; }
};

struct GpsPair {
  std::string name;
  Eigen::Vector3d centre_in_map;
  Wgs84 position;
};

// Robust similarity fit of camera centres to GPS positions (exhaustive or seeded minimal samples of
// three by least median of residuals, then least squares over those within 3 robust sigmas or 2 m;
// deterministic). The turn about a flight line must be known to 5 degrees. Centres cannot tell a
// flat flight from its mirror image seen from below: look at the cameras' directions for that.
// Origin: the first photo's position rounded to 1e-4 degrees, height 0. Throws
// Error(bad_georegistration) when fewer than three positions, positions on a line, or no consensus
// of more than half; says which.
Georegistration fit_georegistration(const std::vector<GpsPair>& pairs, AltitudeDatum datum);

// The map is already in metres, east-north-up, at this origin.
Georegistration georegistration_at_origin(const Wgs84& origin, AltitudeDatum datum);

}  // namespace skyfix
