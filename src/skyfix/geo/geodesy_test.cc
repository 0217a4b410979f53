#include "skyfix/geo/geodesy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/geo/testing.h"

namespace skyfix {
namespace {

using Eigen::Quaterniond;
using Eigen::Vector3d;

const Wgs84 kLondon{51.5, -0.12, 70};

// The printed digits of the reference vectors (formats, 4.1).
constexpr double kPrinted = 0.5e-4 * 1.7320508;

TEST(Geodesy, EcefOfTheReferenceOrigin) {
  EXPECT_THAT(ecef_from_wgs84(kLondon),
              VectorNear(Vector3d(3978683.3804, -8332.9472, 4968417.2399), kPrinted));
}

TEST(Geodesy, EnuOfTheReferencePlaces) {
  const EnuFrame frame(kLondon);
  EXPECT_THAT(frame.enu_from_wgs84({51.501, -0.118, 190}),
              VectorNear(Vector3d(138.8821, 111.2631, 119.9975), kPrinted));
  EXPECT_THAT(frame.enu_from_wgs84({51.51, -0.10, 70}),
              VectorNear(Vector3d(1388.5216, 1112.7812, -0.2480), kPrinted));
  EXPECT_THAT(frame.enu_from_wgs84({51.5, -0.12, 190}), VectorNear(Vector3d(0, 0, 120), 1e-8));
  EXPECT_THAT(frame.enu_from_wgs84(kLondon), VectorNear(Vector3d(0, 0, 0), 1e-8));
}

TEST(Geodesy, TheTangentPlaneLeavesTheEllipsoid) {
  const EnuFrame frame(kLondon);
  for (const auto& [metres, drop] : {std::pair(1e3, 0.08), {2e3, 0.31}, {5e3, 1.96}}) {
    const Wgs84 place = frame.wgs84_from_enu({metres, 0, 0});
    EXPECT_NEAR(place.h_ellipsoid - 70, drop, 0.005);
  }
}

TEST(Geodesy, RoundTripsAllOverTheEarth) {
  for (const double latitude : {-90.0, -89.9999, -45.0, 0.0, 51.5, 89.9999, 90.0}) {
    for (const double longitude : {-180.0, -179.9999, -0.12, 0.0, 90.0, 180.0}) {
      const EnuFrame frame({latitude, longitude, 100});
      for (const Vector3d& enu : {Vector3d(0, 0, 0), Vector3d(3000, -4000, 120)}) {
        const Wgs84 place = frame.wgs84_from_enu(enu);
        EXPECT_TRUE(place.valid()) << latitude << " " << longitude;
        EXPECT_THAT(frame.enu_from_wgs84(place), VectorNear(enu, 1e-7))
            << latitude << " " << longitude;
      }
    }
  }
}

TEST(Geodesy, TheDateLineIsNoEdge) {
  const EnuFrame frame({-17, 179.9999, 0});
  const Vector3d east = frame.enu_from_wgs84({-17, -179.9999, 0});
  EXPECT_NEAR(east.x(), 21.3, 0.1);
  EXPECT_NEAR(east.y(), 0, 0.01);
}

TEST(Geodesy, WhatIsNotAPlaceIsNotValid) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Wgs84({90, -180, -400}).valid());
  for (const Wgs84& wrong :
       {Wgs84{90.001, 0, 0}, Wgs84{0, 180.001, 0}, Wgs84{nan, 0, 0}, Wgs84{0, nan, 0},
        Wgs84{0, 0, nan}, Wgs84{0, 0, infinity}, Wgs84{-infinity, 0, 0}}) {
    EXPECT_FALSE(wrong.valid());
    EXPECT_THROW(EnuFrame{wrong}, Error);
    if (wrong.longitude_deg == 180.001) continue;  // the same place as -179.999
    EXPECT_FALSE(EnuFrame(kLondon).enu_from_wgs84(wrong).allFinite());
  }
}

TEST(AltitudeDatum, NamesComeBack) {
  for (const auto datum :
       {AltitudeDatum::unknown, AltitudeDatum::ellipsoid, AltitudeDatum::sea_level,
        AltitudeDatum::takeoff, AltitudeDatum::as_recorded}) {
    EXPECT_EQ(altitude_datum_from_name(altitude_datum_name(datum)), datum);
  }
}

TEST(AltitudeDatum, AnUnknownNameIsRefusedWithTheList) {
  try {
    altitude_datum_from_name("msl");
    FAIL() << "msl was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_THAT(error.message(), testing::HasSubstr("msl"));
    EXPECT_THAT(error.message(), testing::HasSubstr("sea_level"));
  }
}

struct GimbalCase {
  GimbalAngles gimbal;
  Quaterniond cam_from_world;  // ENU world
  Vector3d optical_axis;       // in ENU
  Vector3d image_up;           // in ENU
};

// The table of reported nadir frames (cases S2), with the level ones beside it.
const GimbalCase kGimbalCases[] = {
    {{0, -90, 0}, {0, 1, 0, 0}, {0, 0, -1}, {0, 1, 0}},
    {{90, -90, 0}, {0, 0.707107, -0.707107, 0}, {0, 0, -1}, {1, 0, 0}},
    {{30, -90, 180}, {0, 0.258819, 0.965926, 0}, {0, 0, -1}, {-0.5, -0.866025, 0}},
    {{210, -90, 0}, {0, 0.258819, 0.965926, 0}, {0, 0, -1}, {-0.5, -0.866025, 0}},
    {{84.2, -44.5, 0},
     {0.286930, 0.684251, -0.618268, 0.259261},
     {0.709599, 0.072078, -0.700909},
     {0.697321, 0.070831, 0.713250}},
    {{0, 0, 0}, {0.707107, 0.707107, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{90, 0, 0}, {0.5, 0.5, -0.5, 0.5}, {1, 0, 0}, {0, 0, 1}},
};

TEST(Gimbal, ReferenceAnglesGiveTheReferenceRotations) {
  for (const GimbalCase& expected : kGimbalCases) {
    SCOPED_TRACE(testing::Message()
                 << "yaw " << expected.gimbal.yaw_deg << " pitch " << expected.gimbal.pitch_deg);
    const Quaterniond rotation = cam_from_enu(expected.gimbal);
    EXPECT_LT(rotation_angle(rotation, expected.cam_from_world.normalized()), 2e-6);
    EXPECT_THAT(rotation.conjugate() * Vector3d(0, 0, 1), VectorNear(expected.optical_axis, 1e-6));
    EXPECT_THAT(rotation.conjugate() * Vector3d(0, -1, 0), VectorNear(expected.image_up, 1e-6));
  }
}

TEST(Gimbal, PositiveRollLowersTheRightSide) {
  const Quaterniond rotation = cam_from_enu({0, 0, 10});
  const Vector3d image_right = rotation.conjugate() * Vector3d(1, 0, 0);
  EXPECT_NEAR(image_right.z(), -std::sin(10 * std::numbers::pi / 180), 1e-12);
}

TEST(Gimbal, AnglesComeBackAwayFromTheVertical) {
  for (const double yaw : {-179.0, -90.0, 0.0, 45.0, 84.2, 180.0}) {
    for (const double pitch : {-89.9, -44.5, 0.0, 30.0, 89.0}) {
      for (const double roll : {-170.0, 0.0, 12.5, 180.0}) {
        const GimbalAngles back = gimbal_from_cam_from_enu(cam_from_enu({yaw, pitch, roll}));
        EXPECT_NEAR(std::remainder(back.yaw_deg - yaw, 360), 0, 1e-9);
        EXPECT_NEAR(back.pitch_deg, pitch, 1e-9);
        EXPECT_NEAR(std::remainder(back.roll_deg - roll, 360), 0, 1e-9);
      }
    }
  }
}

TEST(Gimbal, AtTheVerticalYawTakesTheWholeTurn) {
  const auto nadir = gimbal_from_cam_from_enu(cam_from_enu({30, -90, 180}));
  EXPECT_NEAR(std::remainder(nadir.yaw_deg - 210, 360), 0, 1e-9);
  EXPECT_NEAR(nadir.pitch_deg, -90, 1e-6);
  EXPECT_EQ(nadir.roll_deg, 0);
  const auto zenith = gimbal_from_cam_from_enu(cam_from_enu({30, 90, 20}));
  EXPECT_NEAR(zenith.yaw_deg, 10, 1e-9);
  EXPECT_EQ(zenith.roll_deg, 0);
}

TEST(Gimbal, RotationsComeBackHoweverNearTheVertical) {
  for (const double pitch : {-90.0, 90.0}) {
    for (double away_deg = 1; away_deg > 1e-12; away_deg /= 3) {
      const double tilted = pitch < 0 ? pitch + away_deg : pitch - away_deg;
      const Quaterniond rotation = cam_from_enu({123, tilted, -33});
      const Quaterniond back = cam_from_enu(gimbal_from_cam_from_enu(rotation));
      EXPECT_LT(rotation_angle(rotation, back), 2.1e-7) << away_deg;
    }
  }
}

TEST(Gimbal, AnyRotationComesBack) {
  std::mt19937 random(17);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 1000; ++i) {
    const Quaterniond rotation =
        Quaterniond(normal(random), normal(random), normal(random), normal(random)).normalized();
    const GimbalAngles gimbal = gimbal_from_cam_from_enu(rotation);
    EXPECT_LT(rotation_angle(rotation, cam_from_enu(gimbal)), 1e-12);
    EXPECT_LE(std::abs(gimbal.yaw_deg), 180);
    EXPECT_LE(std::abs(gimbal.pitch_deg), 90);
    EXPECT_LE(std::abs(gimbal.roll_deg), 180);
  }
}

}  // namespace
}  // namespace skyfix
