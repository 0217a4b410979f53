#include "skyfix/simulate/solids.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace skyfix::sim {
namespace {

constexpr double kCellM = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Interval {
  double begin = -kInfinity;
  double end = kInfinity;
  bool empty() const { return begin > end; }
};

// Keeps the part of the ray where value + t * slope <= limit.
void clip(Interval& interval, double value, double slope, double limit) {
  const double room = limit - value;
  if (slope > 0) {
    interval.end = std::min(interval.end, room / slope);
  } else if (slope < 0) {
    interval.begin = std::max(interval.begin, room / slope);
  } else if (room < 0) {
    interval.end = -kInfinity;
  }
}

Interval clip_box(const Solid& solid, const Ray& ray) {
  const Eigen::Vector2d o = solid.local(ray.origin.head<2>());
  const Eigen::Vector2d d = solid.local(solid.centre + ray.direction.head<2>());
  Interval inside;
  for (int axis = 0; axis < 2; ++axis) {
    clip(inside, o[axis], d[axis], solid.half[axis]);
    clip(inside, -o[axis], -d[axis], solid.half[axis]);
  }
  const double oz = ray.origin.z();
  const double dz = ray.direction.z();
  if (solid.shape == Shape::flat) {
    clip(inside, oz, dz, solid.top);
  } else {
    const double slope = (solid.top - solid.eave) / solid.half.y();
    clip(inside, oz + slope * o.y(), dz + slope * d.y(), solid.top);
    clip(inside, oz - slope * o.y(), dz - slope * d.y(), solid.top);
  }
  return inside;
}

// Where a t^2 + 2 b t + c <= 0.
Interval below_zero(double a, double b, double c) {
  const double discriminant = b * b - a * c;
  if (discriminant < 0) return {kInfinity, -kInfinity};
  if (a <= 0) return {-kInfinity, kInfinity};
  const double root = std::sqrt(discriminant);
  return {(-b - root) / a, (-b + root) / a};
}

// The union of an ellipsoid and the cylinder below its equator is convex.
Interval clip_canopy(const Solid& solid, const Ray& ray) {
  const double r = solid.half.x();
  const double stretch = r / (solid.top - solid.eave);
  const Eigen::Vector2d o = ray.origin.head<2>() - solid.centre;
  const Eigen::Vector2d d = ray.direction.head<2>();
  const double oz = (ray.origin.z() - solid.eave) * stretch;
  const double dz = ray.direction.z() * stretch;
  const double outside = o.squaredNorm() - r * r;
  const Interval ball =
      below_zero(d.squaredNorm() + dz * dz, o.dot(d) + oz * dz, outside + oz * oz);
  Interval cylinder = d.squaredNorm() > 0 ? below_zero(d.squaredNorm(), o.dot(d), outside)
                      : outside <= 0      ? Interval{}
                                          : Interval{kInfinity, -kInfinity};
  clip(cylinder, oz, dz, 0);
  if (ball.empty()) return cylinder;
  if (cylinder.empty()) return ball;
  return {std::min(ball.begin, cylinder.begin), std::max(ball.end, cylinder.end)};
}

}  // namespace

std::optional<double> Solid::height(const Eigen::Vector2d& ground) const {
  const Eigen::Vector2d p = local(ground);
  if (shape == Shape::canopy) {
    const double rest = 1 - p.squaredNorm() / (half.x() * half.x());
    if (rest < 0) return std::nullopt;
    return eave + (top - eave) * std::sqrt(rest);
  }
  if (std::abs(p.x()) > half.x() || std::abs(p.y()) > half.y()) return std::nullopt;
  if (shape == Shape::flat) return top;
  return top - (top - eave) * std::abs(p.y()) / half.y();
}

std::optional<double> Solid::enter(const Ray& ray) const {
  const Interval inside = shape == Shape::canopy ? clip_canopy(*this, ray) : clip_box(*this, ray);
  if (inside.empty() || inside.begin <= 0) return std::nullopt;
  return inside.begin;
}

Eigen::Vector3d Solid::normal(const Eigen::Vector3d& point) const {
  const Eigen::Vector2d p = local(point.head<2>());
  const Eigen::Vector2d across(-axis.y(), axis.x());
  const auto sideways = [](const Eigen::Vector2d& v) { return Eigen::Vector3d(v.x(), v.y(), 0); };
  if (shape == Shape::canopy) {
    const Eigen::Vector2d d = point.head<2>() - centre;
    if (point.z() <= eave) return sideways(d.normalized());
    const double stretch = half.x() / (top - eave);
    return Eigen::Vector3d(d.x(), d.y(), (point.z() - eave) * stretch * stretch).normalized();
  }
  constexpr double kNearSurfaceM = 1e-6;
  const double ramp = shape == Shape::flat ? 0 : std::min(1.0, std::abs(p.y()) / half.y());
  const double roof = top - (top - eave) * ramp;
  if (point.z() < roof - kNearSurfaceM) {
    const bool along = half.x() - std::abs(p.x()) < half.y() - std::abs(p.y());
    return along ? sideways(axis * (p.x() > 0 ? 1 : -1)) : sideways(across * (p.y() > 0 ? 1 : -1));
  }
  if (shape == Shape::flat) return Eigen::Vector3d::UnitZ();
  const double slope = (top - eave) / half.y() * (p.y() > 0 ? 1 : -1);
  return (sideways(across * slope) + Eigen::Vector3d::UnitZ()).normalized();
}

SolidGrid::SolidGrid(std::vector<Solid> solids, double half_size_m)
    : solids_(std::move(solids)),
      half_size_m_(half_size_m),
      cells_(std::max(1, int(std::ceil(2 * half_size_m / kCellM)))) {
  const auto each_cell = [&](const Solid& solid, const auto& body) {
    const double reach = solid.reach();
    const int x_end = std::min(cells_ - 1, cell_of(solid.centre.x() + reach));
    const int y_end = std::min(cells_ - 1, cell_of(solid.centre.y() + reach));
    for (int y = std::max(0, cell_of(solid.centre.y() - reach)); y <= y_end; ++y) {
      for (int x = std::max(0, cell_of(solid.centre.x() - reach)); x <= x_end; ++x) {
        body(std::size_t(y) * cells_ + x);
      }
    }
  };
  first_.assign(std::size_t(cells_) * cells_ + 1, 0);
  highest_top_ = -kInfinity;
  for (const Solid& solid : solids_) {
    each_cell(solid, [&](std::size_t cell) { ++first_[cell + 1]; });
    highest_top_ = std::max(highest_top_, solid.top);
  }
  for (std::size_t cell = 1; cell < first_.size(); ++cell) first_[cell] += first_[cell - 1];
  members_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t i = 0; i < solids_.size(); ++i) {
    each_cell(solids_[i], [&](std::size_t cell) { members_[next[cell]++] = std::uint32_t(i); });
  }
}

int SolidGrid::cell_of(double coordinate) const {
  constexpr double kFarAway = 1e8;  // cells: beyond any scene, within an int
  return int(std::clamp(std::floor((coordinate + half_size_m_) / kCellM), -kFarAway, kFarAway));
}

// Walks the cells under the ray in order (Amanatides and Woo 1987).
SolidGrid::Hit SolidGrid::first_hit(const Ray& ray, double t_begin, double t_end, int skip) const {
  const Eigen::Vector3d start = ray.at(t_begin);
  std::array<int, 2> cell = {cell_of(start.x()), cell_of(start.y())};
  std::array<int, 2> step{};
  std::array<double, 2> t_next{};
  std::array<double, 2> t_cell{};
  for (int axis = 0; axis < 2; ++axis) {
    const double d = ray.direction[axis];
    step[axis] = d > 0 ? 1 : -1;
    t_cell[axis] = d != 0 ? kCellM / std::abs(d) : kInfinity;
    const double edge = (cell[axis] + (d > 0 ? 1 : 0)) * kCellM - half_size_m_;
    t_next[axis] = d != 0 ? (edge - ray.origin[axis]) / d : kInfinity;
  }
  Hit best{t_end, -1};
  for (double t = t_begin; t <= best.t;) {
    if (cell[0] >= 0 && cell[1] >= 0 && cell[0] < cells_ && cell[1] < cells_) {
      const std::size_t index = std::size_t(cell[1]) * cells_ + cell[0];
      for (std::uint32_t i = first_[index]; i < first_[index + 1]; ++i) {
        if (int(members_[i]) == skip) continue;
        const std::optional<double> entered = solids_[members_[i]].enter(ray);
        if (entered && *entered < best.t) best = {*entered, int(members_[i])};
      }
    }
    const int axis = t_next[0] < t_next[1] ? 0 : 1;
    t = t_next[axis];
    t_next[axis] += t_cell[axis];
    cell[axis] += step[axis];
  }
  return best;
}

std::optional<double> SolidGrid::height(const Eigen::Vector2d& ground) const {
  const int x = cell_of(ground.x());
  const int y = cell_of(ground.y());
  std::optional<double> highest;
  if (x < 0 || y < 0 || x >= cells_ || y >= cells_) return highest;
  const std::size_t cell = std::size_t(y) * cells_ + x;
  for (std::uint32_t i = first_[cell]; i < first_[cell + 1]; ++i) {
    const std::optional<double> here = solids_[members_[i]].height(ground);
    if (here && (!highest || *here > *highest)) highest = here;
  }
  return highest;
}

}  // namespace skyfix::sim
