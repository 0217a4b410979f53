// What colour the scene has at a hit: linear albedo, filtered to the pixel's footprint.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "skyfix/simulate/world.h"

namespace skyfix::sim {

using Colour = Eigen::Vector3f;  // linear red, green, blue; 1 = white

// `footprint_m`: the width of a pixel on the surface.
Colour albedo(const World& world, const Hit& hit, float footprint_m);

// The pieces of the above.
Colour ground_albedo(const Layout& layout, Spot ground, float footprint_m);
Colour solid_albedo(const Solid& solid, const Eigen::Vector3d& point, float footprint_m);

// 0..1 coverage of a band |distance| < half width, filtered to the footprint.
inline float band(float distance, float half_width, float footprint_m) {
  const float soft = 0.5f * footprint_m;
  const float inside = smooth_step(-soft, soft, half_width - std::abs(distance));
  return inside * std::min(1.0f, 2 * half_width / footprint_m);
}

// Distance of x from the nearest multiple of `pitch`.
inline float off_grid(float x, float pitch) { return x - pitch * std::floor(x / pitch + 0.5f); }

// 0..1 coverage by discs, one in each cell with this probability, each within its cell.
float discs(Spot p, float cell_m, float probability, std::uint32_t salt, float footprint_m);

inline Colour mix(const Colour& a, const Colour& b, float share) { return a + share * (b - a); }

}  // namespace skyfix::sim
