#include "skyfix/simulate/solids.h"

#include <gmock/gmock.h>

#include "skyfix/simulate/noise.h"

namespace skyfix::sim {
namespace {

Solid solid_of(Shape shape) {
  Solid solid;
  solid.shape = shape;
  solid.centre = {3, -2};
  solid.axis = Eigen::Vector2d(0.8, 0.6);
  solid.half = {4, shape == Shape::canopy ? 4 : 2.5};
  solid.eave = 3;
  solid.top = shape == Shape::flat ? 3 : 6;
  return solid;
}

// Where a descending ray first gets below the solid's upper surface, by small steps.
std::optional<double> enter_by_steps(const Solid& solid, const Ray& ray, double step) {
  for (double t = 0; ray.at(t).z() > 0; t += step) {
    const Eigen::Vector3d point = ray.at(t);
    const std::optional<double> height = solid.height(point.head<2>());
    if (height && point.z() < *height) return t;
  }
  return std::nullopt;
}

class SolidShapes : public testing::TestWithParam<Shape> {};

TEST_P(SolidShapes, RaysEnterWhereTheHeightFieldSaysSo) {
  const Solid solid = solid_of(GetParam());
  Rng rng(4);
  constexpr double kStep = 0.002;
  int hits = 0;
  for (int i = 0; i < 300; ++i) {
    Ray ray;
    ray.origin = {rng.uniform(-8, 14), rng.uniform(-12, 8), rng.uniform(7, 12)};
    const Eigen::Vector3d aim(rng.uniform(-3, 9), rng.uniform(-8, 4), 0);
    ray.direction = (aim - ray.origin).normalized();
    const std::optional<double> exact = solid.enter(ray);
    const std::optional<double> stepped = enter_by_steps(solid, ray, kStep);
    if (!stepped) {
      // A step may miss a corner that is barely touched; the height field has no room for more.
      EXPECT_FALSE(exact && ray.at(*exact).z() > 0 && enter_by_steps(solid, ray, kStep / 20));
      continue;
    }
    ASSERT_TRUE(exact);
    EXPECT_NEAR(*exact, *stepped, 2 * kStep);
    ++hits;
  }
  EXPECT_GT(hits, 60);
}

TEST_P(SolidShapes, NormalsAreUnitOutwardAndMatchTheSurface) {
  const Solid solid = solid_of(GetParam());
  Rng rng(5);
  for (int i = 0; i < 200; ++i) {
    Ray ray;
    ray.origin = {rng.uniform(-8, 14), rng.uniform(-12, 8), 10};
    ray.direction = (Eigen::Vector3d(3, -2, 2) - ray.origin).normalized();
    const std::optional<double> t = solid.enter(ray);
    ASSERT_TRUE(t);
    const Eigen::Vector3d point = ray.at(*t);
    const Eigen::Vector3d normal = solid.normal(point);
    EXPECT_NEAR(normal.norm(), 1, 1e-9);
    EXPECT_LT(normal.dot(ray.direction), 0);
    const std::optional<double> inner = solid.height((point - 1e-4 * normal).head<2>());
    ASSERT_TRUE(inner);
    EXPECT_LT((point - 1e-4 * normal).z(), *inner + 1e-9);
  }
}

TEST_P(SolidShapes, RaysFromTheGroundMeetItToo) {
  const Solid solid = solid_of(GetParam());
  const Ray towards{{20, -2, 0.5}, {-1, 0, 0.05}};
  const Ray away{{20, -2, 0.5}, {1, 0, 0.05}};
  EXPECT_TRUE(solid.enter(towards));
  EXPECT_FALSE(solid.enter(away));
}

INSTANTIATE_TEST_SUITE_P(Each, SolidShapes,
                         testing::Values(Shape::flat, Shape::gable, Shape::canopy));

TEST(SolidGrid, FindsTheNearestOfManyLikeATestOfAll) {
  Rng rng(6);
  std::vector<Solid> solids;
  for (int i = 0; i < 200; ++i) {
    Solid solid = solid_of(Shape(rng.below(3)));
    solid.centre = {rng.uniform(-90, 90), rng.uniform(-90, 90)};
    solids.push_back(solid);
  }
  const SolidGrid grid(solids, 100);
  EXPECT_EQ(grid.highest_top(), 6);
  int hits = 0;
  for (int i = 0; i < 500; ++i) {
    Ray ray;
    ray.origin = {rng.uniform(-120, 120), rng.uniform(-120, 120), 40};
    const Eigen::Vector3d aim(rng.uniform(-95, 95), rng.uniform(-95, 95), 0);
    ray.direction = aim - ray.origin;
    SolidGrid::Hit nearest{1, -1};
    for (std::size_t k = 0; k < solids.size(); ++k) {
      const std::optional<double> t = solids[k].enter(ray);
      if (t && *t < nearest.t) nearest = {*t, int(k)};
    }
    const SolidGrid::Hit found = grid.first_hit(ray, 0, 1);
    ASSERT_EQ(found.solid, nearest.solid);
    EXPECT_EQ(found.t, nearest.t);
    if (found.solid < 0) continue;
    ++hits;
    EXPECT_NE(grid.first_hit(ray, 0, 1, found.solid).solid, found.solid);
  }
  EXPECT_GT(hits, 50);
}

TEST(SolidGrid, IsEmptyWithoutSolids) {
  const SolidGrid grid({}, 50);
  EXPECT_EQ(grid.first_hit({{0, 0, 10}, {0, 0, -1}}, 0, 10).solid, -1);
  EXPECT_FALSE(grid.height({0, 0}));
  EXPECT_FALSE(grid.height({1e9, 0}));
}

}  // namespace
}  // namespace skyfix::sim
