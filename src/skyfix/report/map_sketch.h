// map.svg: the run seen from above. One file that any browser opens, without scripts or links.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/localize/fix.h"

namespace skyfix {

// What is drawn; positions are in the plane of the drawing (x right, y up), in `unit`.
struct MapSketch {
  struct Point {
    Eigen::Vector2d position;
    std::array<std::uint8_t, 3> rgb{};
  };
  struct Frame {
    std::string name;
    FixStatus status = FixStatus::failed;
    std::string reason;                       // shown beside the name where there is no fix
    std::optional<Eigen::Vector2d> position;  // of an ok frame
    std::optional<Eigen::Matrix2d> covariance;
    std::optional<Eigen::Vector2d> heading;    // where the top of the picture points; any length
    std::optional<Eigen::Vector2d> reference;  // where the camera was, where that is known
  };

  std::string title;
  std::string unit = "m";
  // East-north-up with north at the top; otherwise the axes carry these names.
  bool north_up = true;
  std::string x_axis = "x";
  std::string y_axis = "y";
  std::vector<Point> points;
  std::vector<Eigen::Vector2d> map_cameras;
  std::vector<Frame> frames;  // in input order
};

// Valid XML whatever names hold. What is not finite is not drawn. Ellipses hold 95 %.
std::string map_sketch_svg(const MapSketch& sketch);

}  // namespace skyfix
