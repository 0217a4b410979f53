// What stands on the ground: convex solids with vertical sides, so that the surface stays a height
// field, each hit exactly by a ray; and a grid that finds them.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <optional>
#include <vector>

namespace skyfix::sim {

struct Ray {
  Eigen::Vector3d origin;
  Eigen::Vector3d direction;
  Eigen::Vector3d at(double t) const { return origin + t * direction; }
};

enum class Shape {
  flat,    // a box with a level top
  gable,   // a box with a ridged roof, ridge along the local x axis
  canopy,  // half an ellipsoid on a cylinder
};

enum class SolidUse { house, shed, hall, car, orchard_tree, tree, bush };

struct Solid {
  Shape shape = Shape::flat;
  SolidUse use = SolidUse::house;
  std::uint32_t style = 0;                           // solids of one use and style look the same
  Eigen::Vector2d centre = Eigen::Vector2d::Zero();  // east, north
  Eigen::Vector2d axis = Eigen::Vector2d::UnitX();   // local x axis in east, north
  Eigen::Vector2d half = Eigen::Vector2d::Ones();    // half sizes along local x and y; radius in x
  double eave = 0;                                   // height where the sides end (absolute)
  double top = 0;                                    // highest point (absolute)

  Eigen::Vector2d local(const Eigen::Vector2d& ground) const {
    const Eigen::Vector2d d = ground - centre;
    return {axis.dot(d), axis.x() * d.y() - axis.y() * d.x()};
  }
  // Height of its upper surface over (east, north), nullopt beside it.
  std::optional<double> height(const Eigen::Vector2d& ground) const;
  // Where the ray enters it, at t > 0.
  std::optional<double> enter(const Ray& ray) const;
  // Outward normal at a point of its surface.
  Eigen::Vector3d normal(const Eigen::Vector3d& point) const;
  // Half the side of the square around the centre that holds it.
  double reach() const { return shape == Shape::canopy ? half.x() : half.norm(); }
};

// Solids by square cells of the ground.
class SolidGrid {
 public:
  SolidGrid(std::vector<Solid> solids, double half_size_m);

  struct Hit {
    double t = 0;
    int solid = -1;  // -1: none
  };
  // First solid that the ray enters before t_end; `skip` is left out (-1: none).
  Hit first_hit(const Ray& ray, double t_begin, double t_end, int skip = -1) const;
  // Highest solid surface over (east, north), nullopt where there is none.
  std::optional<double> height(const Eigen::Vector2d& ground) const;

  const std::vector<Solid>& solids() const { return solids_; }
  double highest_top() const { return highest_top_; }

 private:
  int cell_of(double coordinate) const;

  std::vector<Solid> solids_;
  double half_size_m_;
  int cells_ = 0;                       // along each side
  std::vector<std::uint32_t> first_;    // [cells^2 + 1] into members_
  std::vector<std::uint32_t> members_;  // solid indices, by cell
  double highest_top_ = 0;
};

}  // namespace skyfix::sim
