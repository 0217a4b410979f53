// The whole scene: relief, land cover, and what stands on it; exact ray casting.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <vector>

#include "skyfix/simulate/layout.h"
#include "skyfix/simulate/simulate.h"
#include "skyfix/simulate/solids.h"

namespace skyfix::sim {

// Relief: a bilinear surface over a grid of 2 m, slopes below 0.3. Mean height zero.
class Terrain {
 public:
  Terrain(std::uint64_t seed, double half_size_m);
  double height(const Eigen::Vector2d& ground) const;
  // d(height)/d(east, north).
  Eigen::Vector2d slope(const Eigen::Vector2d& ground) const;
  // As slope, over a few metres, without the grid's creases: for shading.
  Eigen::Vector3d smooth_normal(const Eigen::Vector2d& ground) const;
  // Where a ray that descends by at least 1 in 5 meets it; nullopt when it does not descend so.
  std::optional<double> hit(const Ray& ray) const;

 private:
  struct Cell {
    const float* low;  // heights of the nodes at low y and low x
    double u;
    double v;
  };
  Cell cell_at(const Eigen::Vector2d& ground) const;

  double half_size_m_;
  int nodes_ = 0;  // along each side
  std::vector<float> height_;
};

struct Hit {
  double t = 0;  // along the ray, in units of its direction
  Eigen::Vector3d point;
  int solid = -1;  // -1: the ground
};

struct World {
  World(std::uint64_t seed, double half_size_m);

  double half_size_m;
  Terrain terrain;
  Layout layout;
  SolidGrid solids;

  // First hit of a descending ray within the scene.
  std::optional<Hit> cast(const Ray& ray) const;
  // Whether something stands between the hit and the sun (unit vector towards it).
  bool in_shadow(const Hit& hit, const Eigen::Vector3d& towards_sun) const;
  double height(const Eigen::Vector2d& ground) const;
};

// Houses, trees, cars and so on, as the land covers ask for; in a fixed order.
std::vector<Solid> furnish(std::uint64_t seed, const Layout& layout, const Terrain& terrain,
                           double half_size_m);

}  // namespace skyfix::sim

namespace skyfix {

struct Scene::Data {
  Data(std::uint64_t seed, double half_size_m) : world(seed, half_size_m) {}
  sim::World world;
};

// The one door from a Scene to what is inside it, for this room's sources.
class Renderer {
 public:
  static const sim::World& world(const Scene& scene) { return scene.data_->world; }
};

}  // namespace skyfix
