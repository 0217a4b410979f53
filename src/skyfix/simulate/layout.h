// Who owns which ground: parcels of several land covers between roads and tracks, made by splitting
// a turned square again and again; a gentle warp bends all lines.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <vector>

#include "skyfix/simulate/noise.h"

namespace skyfix::sim {

enum class LandCover {
  crop,        // sown rows
  grass,       // meadow with tufts
  soil,        // ploughed, stony
  gravel,      // a yard
  housing,     // rows of identical houses in gardens
  plantation,  // identical trees on a grid
  parking,     // identical bays
  industry,    // large flat roofs on asphalt
  wood,        // trees without order
  pond,        // open water in a meadow: nothing to match
};

enum class Border { none, track, road };

// Positions in the layout's frame (metres): turned against east-north and warped.
struct Parcel {
  Eigen::Vector2d low;
  Eigen::Vector2d high;
  std::array<Border, 4> borders;  // at low x, high x, low y, high y
  LandCover cover = LandCover::grass;
  std::uint32_t salt = 0;  // tells parcels of one cover apart
  float row_angle = 0;     // radians, of crop rows
};

class Layout {
 public:
  Layout(std::uint64_t seed, double half_size_m);

  // (east, north) to the layout's frame and, to 0.1 mm, back.
  Spot plan_from_ground(Spot ground) const;
  Eigen::Vector2d ground_from_plan(const Eigen::Vector2d& plan) const;
  // Angle of the layout's x axis from east, radians (the warp's bend left out).
  double angle() const { return angle_; }

  const std::vector<Parcel>& parcels() const { return parcels_; }
  const Parcel& parcel_at(Spot plan) const;

 private:
  struct Node {
    int axis = -1;  // -1: leaf
    float at = 0;
    int low = 0;   // child, or for a leaf its parcel
    int high = 0;  // child
  };
  int split(Parcel area, int depth, Rng& rng);
  void deal_covers(Rng& rng);

  double angle_;
  float cos_;
  float sin_;
  std::uint32_t warp_salt_;
  std::vector<Node> nodes_;
  std::vector<Parcel> parcels_;
};

inline constexpr float kRoadHalfWidthM = 3.4f;
inline constexpr float kTrackHalfWidthM = 1.2f;

}  // namespace skyfix::sim
