// Scaled and turned cameras: they see the scaled and turned picture.
#include <gtest/gtest.h>

#include <string>

#include "skyfix/geo/camera.h"
#include "skyfix/geo/sample_cameras.h"
#include "skyfix/geo/testing.h"

namespace skyfix {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

TEST(Camera, ScaledSeesTheSameScaledPicture) {
  for (const Camera& camera : lenses()) {
    const Camera doubled = camera.scaled(2 * camera.width, 2 * camera.height);
    EXPECT_EQ(doubled.width, 2 * camera.width);
    EXPECT_NO_THROW(doubled.validate());
    for (const Vector2d& pixel : pixels_of(camera)) {
      const Vector3d point = *camera.unproject(pixel);
      EXPECT_THAT(*doubled.project(point), VectorNear(2 * *camera.project(point), 1e-9));
    }
    EXPECT_EQ(camera.scaled(camera.width, camera.height), camera);
  }
}

TEST(Camera, ScaledWithTwoFocalLengthsFollowsEachAxis) {
  const Camera camera = lenses()[5];
  const Camera squeezed = camera.scaled(1600, 1201);
  const Vector2d scale(1600.0 / camera.width, 1201.0 / camera.height);
  for (const Vector2d& pixel : pixels_of(camera)) {
    const Vector3d point = *camera.unproject(pixel);
    EXPECT_THAT(*squeezed.project(point),
                VectorNear(camera.project(point)->cwiseProduct(scale), 1e-9));
  }
}

TEST(Camera, TurnedSeesTheTurnedPicture) {
  for (const Camera& camera : lenses()) {
    for (int quarters = -1; quarters <= 4; ++quarters) {
      SCOPED_TRACE(describe(camera) + " turned " + std::to_string(quarters));
      const Camera turned = camera.turned(quarters);
      EXPECT_NO_THROW(turned.validate());
      EXPECT_EQ(turned.width, quarters % 2 == 0 ? camera.width : camera.height);
      EXPECT_EQ(turned.height, quarters % 2 == 0 ? camera.height : camera.width);
      for (const Vector2d& pixel : pixels_of(camera)) {
        const Vector3d point = *camera.unproject(pixel) * 9;
        const auto seen = turned.project(quarter_turn_rotation(quarters) * point);
        ASSERT_TRUE(seen.has_value());
        EXPECT_THAT(*seen, VectorNear(pixel_after_turn(*camera.project(point), quarters,
                                                       camera.width, camera.height),
                                      1e-9));
      }
      const Camera back = turned.turned(-quarters);
      EXPECT_EQ(back.model, camera.model);
      for (std::size_t i = 0; i < back.params.size(); ++i) {
        EXPECT_NEAR(back.params[i], camera.params[i], 1e-9);
      }
    }
  }
}

TEST(QuarterTurn, MovesTheCornersClockwise) {
  const int width = 7;
  const int height = 5;
  // The top-left pixel's centre goes to the top right, then bottom right, then bottom left.
  EXPECT_EQ(pixel_after_turn({0.5, 0.5}, 0, width, height), Vector2d(0.5, 0.5));
  EXPECT_EQ(pixel_after_turn({0.5, 0.5}, 1, width, height), Vector2d(4.5, 0.5));
  EXPECT_EQ(pixel_after_turn({0.5, 0.5}, 2, width, height), Vector2d(6.5, 4.5));
  EXPECT_EQ(pixel_after_turn({0.5, 0.5}, 3, width, height), Vector2d(0.5, 6.5));
  EXPECT_EQ(pixel_after_turn({0.5, 0.5}, -1, width, height), Vector2d(0.5, 6.5));
  EXPECT_EQ(pixel_after_turn({0.5, 0.5}, 4, width, height), Vector2d(0.5, 0.5));
}

TEST(QuarterTurn, PixelsComeBack) {
  for (int quarters = -5; quarters <= 5; ++quarters) {
    const Vector2d pixel(2.25, 4.5);
    const Vector2d turned = pixel_after_turn(pixel, quarters, 7, 5);
    EXPECT_EQ(pixel_before_turn(turned, quarters, 7, 5), pixel) << quarters;
  }
}

TEST(QuarterTurn, RotationsAreProperAndAddUp) {
  EXPECT_EQ(quarter_turn_rotation(0), Eigen::Matrix3d::Identity());
  EXPECT_EQ(quarter_turn_rotation(-1), quarter_turn_rotation(3));
  EXPECT_EQ(quarter_turn_rotation(1) * quarter_turn_rotation(1), quarter_turn_rotation(2));
  EXPECT_EQ(quarter_turn_rotation(1) * quarter_turn_rotation(-1), Eigen::Matrix3d::Identity());
  // What the camera had on its right lies below after a clockwise turn.
  EXPECT_EQ(quarter_turn_rotation(1) * Vector3d(1, 0, 0), Vector3d(0, 1, 0));
}

}  // namespace
}  // namespace skyfix
