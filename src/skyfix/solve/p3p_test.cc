#include "skyfix/solve/p3p.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "skyfix/geo/testing.h"
#include "skyfix/solve/test_scene.h"

namespace skyfix::solve {
namespace {

struct Minimal {
  std::array<Eigen::Vector3d, 3> rays;
  std::array<Eigen::Vector3d, 3> points;
};

Minimal minimal_of(const Camera& camera, const std::vector<PointPair>& pairs) {
  Minimal out;
  for (int k = 0; k < 3; ++k) {
    out.rays[k] = camera.unproject(pairs[k].pixel).value();
    out.points[k] = pairs[k].point;
  }
  return out;
}

double nearest_centre(const Minimal& minimal, const Eigen::Vector3d& truth) {
  std::array<View, 4> views;
  const int count = solve_p3p(minimal.rays, minimal.points, &views);
  double nearest = 1e300;
  for (int k = 0; k < count; ++k) nearest = std::min(nearest, (views[k].centre - truth).norm());
  return nearest;
}

TEST(P3p, HasTheTrueViewAmongItsSolutions) {
  const Camera camera = survey_camera();
  int missed = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const TestView where{.heading_deg = seed * 0.7, .tilt_deg = (seed % 4) * 12.0};
    const Rigid3 truth = pose_of(where);
    const auto pairs =
        make_pairs(camera, truth, {.count = 3, .relief = seed % 2 ? 10.0 : 0.0, .seed = seed});
    if (nearest_centre(minimal_of(camera, pairs), truth.centre()) > 1e-4) ++missed;
  }
  EXPECT_LE(missed, 2);  // triples next to a danger cylinder, where the pose is not determined
}

TEST(P3p, EverySolutionPutsThePointsOnTheirRays) {
  const Camera camera = survey_camera();
  int solutions = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const auto pairs =
        make_pairs(camera, pose_of({.tilt_deg = 20}), {.count = 3, .relief = 20, .seed = seed});
    const Minimal minimal = minimal_of(camera, pairs);
    std::array<View, 4> views;
    const int count = solve_p3p(minimal.rays, minimal.points, &views);
    solutions += count;
    for (int k = 0; k < count; ++k) {
      EXPECT_NEAR(views[k].cam_from_map.determinant(), 1, 1e-12);
      for (int i = 0; i < 3; ++i) {
        const Eigen::Vector3d seen = views[k].to_camera(minimal.points[i]).normalized();
        EXPECT_THAT(seen, VectorNear(minimal.rays[i], 1e-6));
      }
    }
  }
  EXPECT_GT(solutions, 500);  // several are the rule
}

TEST(P3p, SolvesTheSymmetricTriangleUnderTheCamera) {
  // Equilateral, the camera on its axis: the cubic of the pencil has a repeated root.
  const View truth = view_from_pose(pose_of({.altitude = 50}));
  Minimal minimal;
  for (int k = 0; k < 3; ++k) {
    const double angle = 2 * std::numbers::pi * k / 3;
    minimal.points[k] = {30 * std::cos(angle), 30 * std::sin(angle), 0};
    minimal.rays[k] = truth.to_camera(minimal.points[k]).normalized();
  }
  EXPECT_LT(nearest_centre(minimal, truth.centre), 1e-5);
}

TEST(P3p, GivesNothingForDegenerateTriples) {
  const Camera camera = survey_camera();
  const auto pairs = make_pairs(camera, pose_of({}), {.count = 3, .relief = 5});
  const Minimal good = minimal_of(camera, pairs);
  std::array<View, 4> views;

  Minimal line = good;
  line.points[2] = 0.3 * line.points[0] + 0.7 * line.points[1];
  EXPECT_EQ(solve_p3p(line.rays, line.points, &views), 0);

  Minimal same_point = good;
  same_point.points.fill(good.points[0]);
  EXPECT_EQ(solve_p3p(same_point.rays, same_point.points, &views), 0);

  Minimal same_ray = good;
  same_ray.rays[1] = same_ray.rays[0];
  EXPECT_EQ(solve_p3p(same_ray.rays, same_ray.points, &views), 0);

  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308}) {
    Minimal broken = good;
    broken.points[1].y() = value;
    EXPECT_EQ(solve_p3p(broken.rays, broken.points, &views), 0) << value;
  }
}

TEST(P3p, IsExactFarFromTheOrigin) {
  const Camera camera = survey_camera();
  const Rigid3 truth = pose_of({.tilt_deg = 15, .foot = {500000, 4000000, 300}});
  const auto pairs = make_pairs(camera, truth, {.count = 3, .seed = 3});
  EXPECT_LT(nearest_centre(minimal_of(camera, pairs), truth.centre()), 1e-4);
}

}  // namespace
}  // namespace skyfix::solve
