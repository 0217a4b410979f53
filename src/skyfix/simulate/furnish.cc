// Places what stands on each parcel. Positions are planned in the layout's frame.
#include <array>
#include <cmath>
#include <optional>

#include "skyfix/simulate/world.h"

namespace skyfix::sim {
namespace {

constexpr double kMarginM = 6;  // free of solids along a parcel's borders

class Furnisher {
 public:
  Furnisher(std::uint64_t seed, const Layout& layout, const Terrain& terrain, double half_size_m)
      : rng_(seed, 2), layout_(layout), terrain_(terrain), half_size_m_(half_size_m) {}

  std::vector<Solid> all() {
    for (const Parcel& parcel : layout_.parcels()) furnish(parcel);
    return std::move(solids_);
  }

 private:
  void furnish(const Parcel& parcel);
  void houses(const Parcel& parcel);
  void halls(const Parcel& parcel);
  void parked_cars(const Parcel& parcel);
  void orchard(const Parcel& parcel);
  void scatter(const Parcel& parcel, SolidUse use, double per_square_metre);
  void canopy(const Eigen::Vector2d& plan, SolidUse use, double radius, double height,
              std::uint32_t style);
  void box(Solid solid, const Eigen::Vector2d& plan, double turn, double eave, double top);

  // Calls body(plan position) over a grid of this pitch, centred in the parcel within its margins.
  template <class Body>
  void grid(const Parcel& parcel, const Eigen::Vector2d& pitch, const Body& body) const {
    const Eigen::Vector2d room = parcel.high - parcel.low - Eigen::Vector2d::Constant(2 * kMarginM);
    const Eigen::Array2i count = (room.array() / pitch.array()).floor().max(0).cast<int>();
    const Eigen::Vector2d first = (parcel.low + parcel.high) / 2 -
                                  (count.cast<double>() - 1).matrix().cwiseProduct(pitch) / 2;
    for (int y = 0; y < count.y(); ++y) {
      for (int x = 0; x < count.x(); ++x) {
        body(Eigen::Vector2d(first + Eigen::Vector2d(x, y).cwiseProduct(pitch)));
      }
    }
  }

  Rng rng_;
  const Layout& layout_;
  const Terrain& terrain_;
  double half_size_m_;
  std::vector<Solid> solids_;
};

void Furnisher::furnish(const Parcel& parcel) {
  switch (parcel.cover) {
    case LandCover::housing:
      return houses(parcel);
    case LandCover::industry:
      return halls(parcel);
    case LandCover::parking:
      return parked_cars(parcel);
    case LandCover::plantation:
      return orchard(parcel);
    case LandCover::wood:
      return scatter(parcel, SolidUse::tree, 0.018);
    case LandCover::grass:
      return scatter(parcel, SolidUse::bush, 0.006);
    case LandCover::gravel:
      return scatter(parcel, SolidUse::shed, 0.0016);
    default:
      return;
  }
}

// Adds the solid at a planned place unless it leaves the scene; heights are above the ground there.
void Furnisher::box(Solid solid, const Eigen::Vector2d& plan, double turn, double eave,
                    double top) {
  solid.centre = layout_.ground_from_plan(plan);
  if (solid.centre.cwiseAbs().maxCoeff() + solid.reach() > half_size_m_) return;
  const double angle = layout_.angle() + turn;
  solid.axis = {std::cos(angle), std::sin(angle)};
  const double ground = terrain_.height(solid.centre);
  solid.eave = ground + eave;
  solid.top = ground + top;
  solids_.push_back(solid);
}

void Furnisher::canopy(const Eigen::Vector2d& plan, SolidUse use, double radius, double height,
                       std::uint32_t style) {
  Solid solid;
  solid.shape = Shape::canopy;
  solid.use = use;
  solid.style = style;
  solid.half = {radius, radius};
  box(solid, plan, 0, height * 0.45, height);
}

void Furnisher::houses(const Parcel& parcel) {
  const bool turned = rng_.uniform() < 0.5;
  Solid house;
  house.shape = Shape::gable;
  house.use = SolidUse::house;
  house.style = parcel.salt;
  house.half = {rng_.uniform(5.0, 6.5), rng_.uniform(3.6, 4.6)};
  const double top = rng_.uniform(6.0, 7.5);
  const Eigen::Vector2d pitch = turned ? Eigen::Vector2d(15, 20) : Eigen::Vector2d(20, 15);
  grid(parcel, pitch, [&](const Eigen::Vector2d& plan) {
    box(house, plan, turned ? 1.5708 : 0, 3.6, top);
    for (int i = 0; i < 2; ++i) {
      const double side = rng_.uniform() < 0.5 ? -1 : 1;
      const Eigen::Vector2d corner{side * rng_.uniform(6.5, 8.5), side * rng_.uniform(5.5, 7.5)};
      canopy(plan + corner, SolidUse::bush, rng_.uniform(0.7, 1.8), rng_.uniform(1, 3),
             std::uint32_t(rng_.bits()));
    }
  });
}

void Furnisher::halls(const Parcel& parcel) {
  Solid hall;
  hall.use = SolidUse::hall;
  grid(parcel, {34, 27}, [&](const Eigen::Vector2d& plan) {
    hall.half = {rng_.uniform(9, 13), rng_.uniform(6, 9)};
    hall.style = std::uint32_t(rng_.bits());
    const double top = rng_.uniform(5, 9);
    box(hall, plan, 0, top, top);
  });
}

// Two rows of bays share an aisle: the marks on the asphalt have the same pitch (materials.cc).
void Furnisher::parked_cars(const Parcel& parcel) {
  Solid car;
  car.use = SolidUse::car;
  car.half = {2.2, 0.9};
  const Eigen::Vector2d middle = (parcel.low + parcel.high) / 2;
  const Eigen::Vector2d room = (parcel.high - parcel.low) / 2 - Eigen::Vector2d::Constant(kMarginM);
  for (double y = -std::ceil(room.y() / 16) * 16; y < room.y(); y += 16) {
    for (double x = -std::floor(room.x() / 2.5) * 2.5 + 1.25; x < room.x(); x += 2.5) {
      for (const double bay : {2.5, 13.5}) {
        if (std::abs(y + bay) > room.y() || rng_.uniform() > 0.4) continue;
        car.style = std::uint32_t(rng_.below(6));
        const Eigen::Vector2d jitter{rng_.uniform(-0.2, 0.2), rng_.uniform(-0.25, 0.25)};
        box(car, middle + Eigen::Vector2d(x, y + bay) + jitter, bay < 8 ? 1.5708 : -1.5708, 1.4,
            1.4);
      }
    }
  }
}

void Furnisher::orchard(const Parcel& parcel) {
  const double radius = rng_.uniform(1.4, 1.9);
  grid(parcel, {5, 5}, [&](const Eigen::Vector2d& plan) {
    canopy(plan, SolidUse::orchard_tree, radius, 2.2 * radius, parcel.salt);
  });
}

void Furnisher::scatter(const Parcel& parcel, SolidUse use, double per_square_metre) {
  const Eigen::Vector2d size = parcel.high - parcel.low - Eigen::Vector2d::Constant(2 * kMarginM);
  const int count = int(size.prod() * per_square_metre);
  for (int i = 0; i < count; ++i) {
    const Eigen::Vector2d plan = parcel.low + Eigen::Vector2d(kMarginM + size.x() * rng_.uniform(),
                                                              kMarginM + size.y() * rng_.uniform());
    const std::uint32_t style = std::uint32_t(rng_.bits());
    if (use == SolidUse::tree) {
      canopy(plan, use, rng_.uniform(2, 4.5), rng_.uniform(5, 11), style);
    } else if (use == SolidUse::bush) {
      canopy(plan, use, rng_.uniform(0.5, 1.6), rng_.uniform(0.8, 2.5), style);
    } else {
      Solid shed;
      shed.use = use;
      shed.style = style;
      shed.half = {rng_.uniform(1.2, 6), rng_.uniform(1.1, 1.4)};  // crates and containers
      box(shed, plan, rng_.uniform(0, 3.1), 2.5, 2.5);
    }
  }
}

}  // namespace

std::vector<Solid> furnish(std::uint64_t seed, const Layout& layout, const Terrain& terrain,
                           double half_size_m) {
  return Furnisher(seed, layout, terrain, half_size_m).all();
}

}  // namespace skyfix::sim
