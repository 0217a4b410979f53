#include "skyfix/localize/turn.h"

#include <gmock/gmock.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "skyfix/geo/testing.h"
#include "skyfix/image/image.h"

namespace skyfix {
namespace {

constexpr int kWidth = 5;
constexpr int kHeight = 3;
constexpr double kQuarter = std::numbers::pi / 2;

Rigid3 turned_about_axis(const Rigid3& pose, double angle_rad) {
  const Eigen::Quaterniond turn(Eigen::AngleAxisd(angle_rad, Eigen::Vector3d::UnitZ()));
  return {(turn * pose.rotation).normalized(), turn * pose.translation};
}

// A camera that looks down, aside and was turned about its axis.
Rigid3 some_camera() {
  const Eigen::Quaterniond rotation(
      Eigen::AngleAxisd(2.9, Eigen::Vector3d(1, 0.1, -0.2).normalized()));
  return {rotation, {3, -2, 40}};
}

TEST(Turn, PlacesGoWherePixelsGo) {
  Image picture{kWidth, kHeight, 1, {}};
  for (int i = 0; i < kWidth * kHeight; ++i) picture.pixels.push_back(std::uint8_t(i));
  for (int quarters = 0; quarters < 4; ++quarters) {
    const Image turned = turn(picture, quarters);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const Eigen::Vector2f centre(float(x) + 0.5f, float(y) + 0.5f);
        const Eigen::Vector2f there = after_turn(centre, quarters, kWidth, kHeight);
        EXPECT_EQ(turned.row(int(there.y()))[int(there.x())], picture.row(y)[x]);
        EXPECT_EQ(there.x() - std::floor(there.x()), 0.5f) << "centres stay centres";
        EXPECT_THAT(before_turn(there, quarters, kWidth, kHeight), VectorNear(centre, 0));
      }
    }
  }
}

TEST(Turn, CornersGoToCornersAndFourQuartersAreNone) {
  const Eigen::Vector2f corner(0, 0);
  EXPECT_THAT(after_turn(corner, 1, kWidth, kHeight), VectorNear(Eigen::Vector2f(3, 0), 0));
  EXPECT_THAT(after_turn(corner, 2, kWidth, kHeight), VectorNear(Eigen::Vector2f(5, 3), 0));
  EXPECT_THAT(after_turn(corner, 3, kWidth, kHeight), VectorNear(Eigen::Vector2f(0, 5), 0));
  const Eigen::Vector2f place(1.25f, 2.5f);
  EXPECT_THAT(after_turn(place, 4, kWidth, kHeight), VectorNear(place, 0));
  EXPECT_THAT(after_turn(place, -1, kWidth, kHeight),
              VectorNear(after_turn(place, 3, kWidth, kHeight), 0));
}

TEST(Turn, ATurnedCameraSeesThePlacesTurned) {
  const Rigid3 camera = some_camera();
  const Eigen::Vector3d seen = camera * Eigen::Vector3d(1, 2, 3);
  const Eigen::Vector3d turned = turned_camera(camera, 1) * Eigen::Vector3d(1, 2, 3);
  // Clockwise, with y down: what lay to the right lies below.
  EXPECT_THAT(turned, VectorNear(Eigen::Vector3d(-seen.y(), seen.x(), seen.z()), 1e-12));
  EXPECT_THAT(turned_camera(camera, 3).centre(), VectorNear(camera.centre(), 1e-12));
  EXPECT_THAT(turned_camera(camera, 4), PoseNear(camera, 1e-12, 1e-5));
}

TEST(Turn, TheTurnBetweenCamerasIsFoundWhateverTheTilt) {
  const Rigid3 from = some_camera();
  for (const double angle : {-3.0, -1.2, 0.0, 0.4, 1.6, 3.1}) {
    const Rigid3 to = turned_about_axis(from, angle);
    EXPECT_NEAR(turn_between_rad(from, to), angle, 1e-9);
    // Tilted by 20 degrees more, and moved: about the same turn.
    Rigid3 tilted = to;
    tilted.rotation =
        Eigen::Quaterniond(Eigen::AngleAxisd(0.35, Eigen::Vector3d::UnitX())) * to.rotation;
    tilted.translation += Eigen::Vector3d(5, 6, 7);
    const double difference = turn_between_rad(from, tilted) - angle;
    EXPECT_NEAR(std::remainder(difference, 4 * kQuarter), 0, 1e-6);
  }
}

TEST(Turn, QuartersAreTheNearest) {
  EXPECT_EQ(quarters_of(0), 0);
  EXPECT_EQ(quarters_of(0.49 * kQuarter), 0);
  EXPECT_EQ(quarters_of(0.51 * kQuarter), 1);
  EXPECT_EQ(quarters_of(1.9 * kQuarter), 2);
  EXPECT_EQ(quarters_of(-1.9 * kQuarter), 2);
  EXPECT_EQ(quarters_of(-kQuarter), 3);
  for (int quarters = 0; quarters < 4; ++quarters) {
    const Rigid3 turned = turned_camera(some_camera(), quarters);
    EXPECT_EQ(quarters_of(turn_between_rad(some_camera(), turned)), quarters);
  }
}

}  // namespace
}  // namespace skyfix
