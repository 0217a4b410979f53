#include "skyfix/simulate/world.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace skyfix::sim {
namespace {

constexpr double kGridM = 2;
constexpr double kLeastDescent = 0.2;  // of a unit ray: steeper than any slope of the relief

}  // namespace

Terrain::Terrain(std::uint64_t seed, double half_size_m)
    : half_size_m_(half_size_m), nodes_(int(std::ceil(2 * half_size_m / kGridM)) + 2) {
  assert(half_size_m > 0);
  const std::uint32_t salt = std::uint32_t(scramble(seed ^ 0x7e44a1ULL));
  height_.resize(std::size_t(nodes_) * nodes_);
  for (int y = 0; y < nodes_; ++y) {
    for (int x = 0; x < nodes_; ++x) {
      const Spot p{float(x * kGridM - half_size_m), float(y * kGridM - half_size_m)};
      const float hills = 4.5f * fractal(p, {150, 1, 0, salt}, 0.01f);
      const float knolls = 1.0f * fractal(p, {48, 1, 0, salt + 9}, 0.01f);
      height_[std::size_t(y) * nodes_ + x] = hills + knolls;
    }
  }
  const float mean = float(std::accumulate(height_.begin(), height_.end(), 0.0) / height_.size());
  for (float& height : height_) height -= mean;
}

// Beyond the scene the outermost cells go on.
Terrain::Cell Terrain::cell_at(const Eigen::Vector2d& ground) const {
  const double x = (ground.x() + half_size_m_) / kGridM;
  const double y = (ground.y() + half_size_m_) / kGridM;
  const int ix = int(std::clamp(std::floor(x), 0.0, double(nodes_ - 2)));
  const int iy = int(std::clamp(std::floor(y), 0.0, double(nodes_ - 2)));
  return {height_.data() + std::size_t(iy) * nodes_ + ix, x - ix, y - iy};
}

double Terrain::height(const Eigen::Vector2d& ground) const {
  const Cell c = cell_at(ground);
  const float* high = c.low + nodes_;
  const double south = c.low[0] + c.u * (c.low[1] - c.low[0]);
  const double north = high[0] + c.u * (high[1] - high[0]);
  return south + c.v * (north - south);
}

Eigen::Vector2d Terrain::slope(const Eigen::Vector2d& ground) const {
  const Cell c = cell_at(ground);
  const float* high = c.low + nodes_;
  const double by_x = (1 - c.v) * (c.low[1] - c.low[0]) + c.v * (high[1] - high[0]);
  const double by_y = (1 - c.u) * (high[0] - c.low[0]) + c.u * (high[1] - c.low[1]);
  return Eigen::Vector2d(by_x, by_y) / kGridM;
}

Eigen::Vector3d Terrain::smooth_normal(const Eigen::Vector2d& ground) const {
  constexpr double kStepM = 3;
  const Eigen::Vector2d x(kStepM, 0);
  const Eigen::Vector2d y(0, kStepM);
  const double by_x = (height(ground + x) - height(ground - x)) / (2 * kStepM);
  const double by_y = (height(ground + y) - height(ground - y)) / (2 * kStepM);
  return Eigen::Vector3d(-by_x, -by_y, 1).normalized();
}

// Newton on the height of the ray above the ground: within one cell it converges at once, and since
// the ray descends faster than the ground it cannot jump over a nearer hit.
std::optional<double> Terrain::hit(const Ray& ray) const {
  const Eigen::Vector3d& d = ray.direction;
  if (!(d.z() < 0 && -d.z() >= kLeastDescent * d.norm())) return std::nullopt;
  double t = -ray.origin.z() / d.z();
  for (int i = 0; i < 40; ++i) {
    const Eigen::Vector3d point = ray.at(t);
    const double above = point.z() - height(point.head<2>());
    if (std::abs(above) < 1e-10) break;
    const double rate = d.z() - slope(point.head<2>()).dot(d.head<2>());
    t -= above / std::min(rate, 0.3 * d.z());
  }
  if (t <= 0) return std::nullopt;
  return t;
}

World::World(std::uint64_t seed, double half_size)
    : half_size_m(half_size),
      terrain(seed, half_size),
      layout(seed, half_size),
      solids(furnish(seed, layout, terrain, half_size), half_size) {}

std::optional<Hit> World::cast(const Ray& ray) const {
  const std::optional<double> ground = terrain.hit(ray);
  if (!ground) return std::nullopt;
  Hit hit{*ground, {}, -1};
  const double at_tops = (solids.highest_top() - ray.origin.z()) / ray.direction.z();
  if (at_tops < hit.t) {
    const SolidGrid::Hit first = solids.first_hit(ray, std::max(0.0, at_tops), hit.t);
    hit.t = first.t;
    hit.solid = first.solid;
  }
  hit.point = ray.at(hit.t);
  if (hit.point.head<2>().cwiseAbs().maxCoeff() > half_size_m) return std::nullopt;
  return hit;
}

bool World::in_shadow(const Hit& hit, const Eigen::Vector3d& towards_sun) const {
  const double rise = solids.highest_top() - hit.point.z();
  if (rise <= 0 || towards_sun.z() <= 0) return false;
  // A solid is convex: it never shades a side of itself that faces the sun.
  const Ray ray{hit.point, towards_sun};
  return solids.first_hit(ray, 0, rise / towards_sun.z(), hit.solid).solid >= 0;
}

double World::height(const Eigen::Vector2d& ground) const {
  const double bare = terrain.height(ground);
  const std::optional<double> standing = solids.height(ground);
  return standing ? std::max(bare, *standing) : bare;
}

}  // namespace skyfix::sim

namespace skyfix {

Scene::Scene(std::uint64_t seed, double half_size_m)
    : data_(std::make_unique<Data>(seed, half_size_m)) {}
Scene::~Scene() = default;

double Scene::half_size_m() const { return data_->world.half_size_m; }

double Scene::height(double east, double north) const {
  assert(std::isfinite(east) && std::isfinite(north));
  return data_->world.height({east, north});
}

bool Scene::cast(const Eigen::Vector3d& origin, const Eigen::Vector3d& direction,
                 Eigen::Vector3d* hit) const {
  if (!origin.allFinite() || !direction.allFinite()) return false;
  const std::optional<sim::Hit> found = data_->world.cast({origin, direction});
  if (!found) return false;
  *hit = found->point;
  return true;
}

}  // namespace skyfix
