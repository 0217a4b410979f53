#include "skyfix/simulate/flight.h"

#include <gmock/gmock.h>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/geo/testing.h"

namespace skyfix::sim {
namespace {

using testing::HasSubstr;

void expect_refused(const SimulateOptions& options, const std::string& name) {
  try {
    options.validate();
    ADD_FAILURE() << name << " was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    EXPECT_THAT(error.what(), HasSubstr(name));
  }
}

TEST(SimulateOptions, RefuseWhatCannotBeFlown) {
  EXPECT_NO_THROW(SimulateOptions().validate());
  const auto with = [](auto change) {
    SimulateOptions options;
    change(options);
    return options;
  };
  expect_refused(with([](auto& o) { o.map_images = 1; }), "map_images");
  expect_refused(with([](auto& o) { o.query_images = -1; }), "query_images");
  expect_refused(with([](auto& o) { o.width_px = 10; }), "width_px");
  expect_refused(with([](auto& o) { o.altitude_m = 0; }), "altitude_m");
  expect_refused(with([](auto& o) { o.altitude_query_m = 1e9; }), "altitude_query_m");
  expect_refused(with([](auto& o) { o.overlap = 1; }), "overlap");
  expect_refused(with([](auto& o) { o.overlap = std::nan(""); }), "overlap");
  expect_refused(with([](auto& o) { o.gps_sigma_m = -1; }), "gps_sigma_m");
  expect_refused(with([](auto& o) { o.points = 0; }), "points");
  expect_refused(with([](auto& o) { o.jpeg_quality = 101; }), "jpeg_quality");
  expect_refused(with([](auto& o) { o.origin.latitude_deg = 90; }), "latitude");
  expect_refused(with([](auto& o) { o.origin.longitude_deg = 181; }), "longitude");
  expect_refused(with([](auto& o) { o.map_images = 5000, o.altitude_m = 500; }), "scene");
}

TEST(PlanFlight, NeighboursOverlapAsAsked) {
  const SimulateOptions options;
  const SimulatedFlight flight = plan_flight(options);
  const double footprint_x = options.altitude_m * flight.camera.width / flight.camera.focal_x();
  const double footprint_y = footprint_x * flight.camera.height / flight.camera.width;
  ASSERT_EQ(flight.map_photos.size(), 60);
  double widest = 0;
  double shared = 0;
  int along = 0;
  for (std::size_t i = 0; i + 1 < flight.map_photos.size(); ++i) {
    const Eigen::Vector3d step =
        flight.map_photos[i + 1].cam_from_enu.centre() - flight.map_photos[i].cam_from_enu.centre();
    if (std::abs(step.x()) > 5) {
      widest = std::max(widest, std::abs(step.x()));
    } else {
      shared += 1 - std::abs(step.y()) / footprint_y;
      ++along;
    }
  }
  EXPECT_NEAR(shared / along, options.overlap, 0.02);
  EXPECT_NEAR(1 - widest / footprint_x, options.overlap, 0.03);
}

TEST(PlanFlight, PosesFollowTheGimbal) {
  SimulateOptions options;
  options.query_images = 20;
  const SimulatedFlight flight = plan_flight(options);
  int oblique = 0;
  for (const auto* photos : {&flight.map_photos, &flight.query_photos}) {
    for (const SimulatedPhoto& photo : *photos) {
      Rigid3 expected = photo.cam_from_enu;
      expected.rotation = cam_from_enu(photo.gimbal);
      EXPECT_LT(rotation_angle(photo.cam_from_enu.rotation, expected.rotation), 1e-12);
      const double tilt = 90 + photo.gimbal.pitch_deg;
      EXPECT_THAT(tilt, testing::AllOf(testing::Ge(0), testing::Le(20)));
      EXPECT_LE(std::abs(photo.gimbal.yaw_deg), 180);
      if (photos == &flight.map_photos) {
        EXPECT_LE(tilt, 3);
      }
      oblique += tilt >= 10;
    }
  }
  EXPECT_EQ(oblique, 4);
}

TEST(PlanFlight, QueriesLieOverTheMapAtTheirOwnAltitude) {
  const SimulateOptions options;
  const SimulatedFlight flight = plan_flight(options);
  const Eigen::Vector2d extent = map_half_extent_m(options);
  double widest_yaw = 0;
  for (const SimulatedPhoto& photo : flight.query_photos) {
    const Eigen::Vector3d centre = photo.cam_from_enu.centre();
    EXPECT_LE(std::abs(centre.x()), extent.x());
    EXPECT_LE(std::abs(centre.y()), extent.y());
    EXPECT_NEAR(centre.z(), options.altitude_query_m, 3.01);
    widest_yaw = std::max(widest_yaw, std::abs(photo.gimbal.yaw_deg));
  }
  EXPECT_GT(widest_yaw, 120);
}

TEST(PlanFlight, GpsErrorsHaveTheSigmaAskedFor) {
  SimulateOptions options;
  options.map_images = 900;
  options.gps_sigma_m = 2;
  const SimulatedFlight flight = plan_flight(options);
  const EnuFrame enu(options.origin);
  Eigen::Array3d squares = Eigen::Array3d::Zero();
  for (const SimulatedPhoto& photo : flight.map_photos) {
    const Eigen::Vector3d error = enu.enu_from_wgs84(photo.gps) - photo.cam_from_enu.centre();
    squares += error.array().square();
  }
  const Eigen::Array3d sigma = (squares / double(flight.map_photos.size())).sqrt();
  EXPECT_NEAR(sigma.x(), 2, 0.2);
  EXPECT_NEAR(sigma.y(), 2, 0.2);
  EXPECT_NEAR(sigma.z(), 4, 0.4);
}

TEST(PlanFlight, NamesAreNumberedOnAndPhotosFitTheScene) {
  const SimulateOptions options;
  const SimulatedFlight flight = plan_flight(options);
  EXPECT_EQ(flight.map_photos.front().name, "DJI_0001.JPG");
  EXPECT_EQ(flight.map_photos.back().name, "DJI_0060.JPG");
  EXPECT_EQ(flight.query_photos.front().name, "DJI_0061.JPG");
  EXPECT_NO_THROW(flight.camera.validate());
  const double half_size = scene_half_size_m(options);
  for (const auto* photos : {&flight.map_photos, &flight.query_photos}) {
    for (const SimulatedPhoto& photo : *photos) {
      for (const double x : {0, flight.camera.width}) {
        for (const double y : {0, flight.camera.height}) {
          const auto ray = flight.camera.unproject({x, y});
          ASSERT_TRUE(ray);
          const Eigen::Vector3d ahead = photo.cam_from_enu.rotation.conjugate() * *ray;
          const Eigen::Vector3d centre = photo.cam_from_enu.centre();
          const Eigen::Vector3d ground = centre - ahead * (centre.z() / ahead.z());
          EXPECT_LT(ground.head<2>().cwiseAbs().maxCoeff(), half_size);
        }
      }
    }
  }
}

}  // namespace
}  // namespace skyfix::sim
