// A small flight and its scene for this room's tests. For tests only.
#pragma once

#include "skyfix/simulate/simulate.h"

namespace skyfix::sim {

inline SimulateOptions small_flight() {
  SimulateOptions options;
  options.seed = 7;
  options.map_images = 6;
  options.query_images = 4;
  options.width_px = 300;
  options.points = 500;
  return options;
}

}  // namespace skyfix::sim
