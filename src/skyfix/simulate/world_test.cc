#include "skyfix/simulate/world.h"

#include <gmock/gmock.h>
#include <cmath>

#include <set>

#include "skyfix/simulate/materials.h"

namespace skyfix::sim {
namespace {

constexpr double kHalfSizeM = 150;

Ray random_ray(Rng& rng) {
  Ray ray;
  ray.origin = {rng.uniform(-100, 100), rng.uniform(-100, 100), rng.uniform(60, 100)};
  const double tilt = rng.uniform(0, 0.9);
  const double azimuth = rng.uniform(0, 6.28);
  ray.direction = {std::sin(tilt) * std::cos(azimuth), std::sin(tilt) * std::sin(azimuth),
                   -std::cos(tilt)};
  return ray;
}

TEST(Scene, CastHitsTheSurfaceFirstMet) {
  const Scene scene(3, kHalfSizeM);
  Rng rng(1);
  int hits = 0;
  int sides = 0;
  for (int i = 0; i < 1500; ++i) {
    const Ray ray = random_ray(rng);
    Eigen::Vector3d hit;
    if (!scene.cast(ray.origin, ray.direction, &hit)) continue;
    ++hits;
    const Eigen::Vector3d inside = hit + 1e-7 * ray.direction;  // a wall has no height of its own
    const double below_top = scene.height(inside.x(), inside.y()) - inside.z();
    EXPECT_THAT(below_top, testing::Gt(0));
    sides += below_top > 0.01;
    const double length = (hit - ray.origin).norm();
    for (double t = 0; t < length - 0.3; t += 0.25) {
      const Eigen::Vector3d before = ray.at(t);
      ASSERT_GT(before.z(), scene.height(before.x(), before.y()) - 1e-6) << "passed through";
    }
  }
  EXPECT_GT(hits, 1000);
  EXPECT_GT(sides, 10);  // walls, not the upper surface
}

TEST(Scene, CastIsFalseBeyondTheScene) {
  const Scene scene(3, kHalfSizeM);
  Eigen::Vector3d hit;
  EXPECT_TRUE(scene.cast({0, 0, 80}, {0, 0, -1}, &hit));
  EXPECT_FALSE(scene.cast({0, 0, 80}, {0, 0, 1}, &hit));
  EXPECT_FALSE(scene.cast({0, 0, 80}, {1, 0, 0}, &hit));
  EXPECT_FALSE(scene.cast({0, 0, 80}, {1, 0, -0.05}, &hit));
  EXPECT_FALSE(scene.cast({0, 0, 80}, {3, 0, -1}, &hit));
  EXPECT_FALSE(scene.cast({0, 0, -80}, {0, 0, -1}, &hit));
  EXPECT_FALSE(scene.cast({0, 0, 80}, {0, 0, 0}, &hit));
  EXPECT_FALSE(scene.cast({1e200, 0, 80}, {0, 0, -1}, &hit));
  EXPECT_FALSE(scene.cast({0, std::nan(""), 80}, {0, 0, -1}, &hit));
  EXPECT_FALSE(scene.cast({0, 0, 80}, {std::nan(""), 0, -1}, &hit));
}

TEST(Scene, IsAFunctionOfItsSeed) {
  const Scene a(3, kHalfSizeM);
  const Scene same(3, kHalfSizeM);
  const Scene other(4, kHalfSizeM);
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    const double east = 2.7 * i - 140;
    EXPECT_EQ(a.height(east, 10), same.height(east, 10));
    different += a.height(east, 10) != other.height(east, 10);
  }
  EXPECT_GT(different, 90);
}

TEST(Terrain, IsGentleWithMeanZero) {
  const Terrain terrain(11, kHalfSizeM);
  double sum = 0;
  double steepest = 0;
  double highest = -100;
  int count = 0;
  for (double x = -145; x < 145; x += 3.1) {
    for (double y = -145; y < 145; y += 3.1) {
      sum += terrain.height({x, y});
      highest = std::max(highest, terrain.height({x, y}));
      steepest = std::max(steepest, terrain.slope({x, y}).norm());
      ++count;
    }
  }
  EXPECT_NEAR(sum / count, 0, 0.3);
  EXPECT_LT(steepest, 0.3);  // what hit() relies on
  EXPECT_GT(highest, 1);
}

TEST(Layout, HasEveryLandCoverNearTheMiddle) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const Layout layout(seed, 250);
    std::set<LandCover> covers;
    for (double x = -150; x <= 150; x += 5) {
      for (double y = -150; y <= 150; y += 5) {
        covers.insert(layout.parcel_at(layout.plan_from_ground({float(x), float(y)})).cover);
      }
    }
    EXPECT_EQ(covers.size(), 10) << "seed " << seed;
  }
}

TEST(Layout, PlanAndGroundAreInverse) {
  const Layout layout(2, 250);
  Rng rng(2);
  for (int i = 0; i < 200; ++i) {
    const Eigen::Vector2d plan(rng.uniform(-200, 200), rng.uniform(-200, 200));
    const Eigen::Vector2d ground = layout.ground_from_plan(plan);
    const Spot back = layout.plan_from_ground({float(ground.x()), float(ground.y())});
    EXPECT_NEAR(back.x, plan.x(), 1e-3);
    EXPECT_NEAR(back.y, plan.y(), 1e-3);
  }
}

TEST(World, ShadowsFallAwayFromTheSun) {
  const World world(3, kHalfSizeM);
  const Eigen::Vector3d towards_sun = Eigen::Vector3d(1, 0, 1).normalized();
  int tested = 0;
  for (const Solid& solid : world.solids.solids()) {
    if (solid.use != SolidUse::house) continue;
    const double reach = solid.half.norm();
    const double rise = solid.eave - world.terrain.height(solid.centre);
    const Eigen::Vector2d shaded(solid.centre.x() - reach * 0.9 - 0.3 * rise, solid.centre.y());
    if (world.solids.height(shaded)) continue;
    Hit hit;
    hit.point << shaded.x(), shaded.y(), world.terrain.height(shaded);
    const Ray to_sun{hit.point, towards_sun};
    EXPECT_EQ(world.in_shadow(hit, towards_sun),
              world.solids.first_hit(to_sun, 0, 1000).solid >= 0);
    tested += world.in_shadow(hit, towards_sun);
    EXPECT_FALSE(world.in_shadow(hit, Eigen::Vector3d::UnitZ()));
  }
  EXPECT_GT(tested, 0);
}

TEST(Albedo, IsAColourEverywhereAndPlainOnWater) {
  const World world(1, 250);
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    const Ray ray = random_ray(rng);
    const auto hit = world.cast(ray);
    if (!hit) continue;
    const Colour colour = albedo(world, *hit, 0.09f);
    ASSERT_TRUE(colour.allFinite());
    ASSERT_GT(colour.minCoeff(), 0);
    ASSERT_LT(colour.maxCoeff(), 1.2f);
  }
  for (const Parcel& parcel : world.layout.parcels()) {
    if (parcel.cover != LandCover::pond) continue;
    const Eigen::Vector2d middle = world.layout.ground_from_plan((parcel.low + parcel.high) / 2);
    const Spot at{float(middle.x()), float(middle.y())};
    EXPECT_EQ(ground_albedo(world.layout, at, 0.09f),
              ground_albedo(world.layout, {at.x + 1, at.y + 1}, 0.09f));
  }
}

}  // namespace
}  // namespace skyfix::sim
