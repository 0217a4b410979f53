#include "skyfix/geo/camera.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/geo/sample_cameras.h"
#include "skyfix/geo/testing.h"

namespace skyfix {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;
using testing::HasSubstr;

TEST(CameraModels, NamesAndNumbersAreColmaps) {
  const std::vector<std::string> names = {"SIMPLE_PINHOLE", "PINHOLE", "SIMPLE_RADIAL",
                                          "RADIAL",         "OPENCV",  "OPENCV_FISHEYE",
                                          "FULL_OPENCV"};
  const std::vector<std::size_t> counts = {3, 4, 4, 5, 8, 8, 12};
  for (int id = 0; id < 7; ++id) {
    EXPECT_EQ(camera_model_name(camera_model_from_id(id)), names[id]);
    EXPECT_EQ(static_cast<int>(camera_model_from_name(names[id])), id);
    EXPECT_EQ(camera_model_parameter_count(camera_model_from_id(id)), counts[id]);
  }
}

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::unsupported_camera_model);
    return error.message();
  }
  return "not refused";
}

TEST(CameraModels, OthersAreRefusedByName) {
  const std::vector<std::string> names = {"FOV",
                                          "SIMPLE_RADIAL_FISHEYE",
                                          "RADIAL_FISHEYE",
                                          "THIN_PRISM_FISHEYE",
                                          "RAD_TAN_THIN_PRISM_FISHEYE",
                                          "SIMPLE_DIVISION",
                                          "DIVISION",
                                          "SIMPLE_FISHEYE",
                                          "FISHEYE",
                                          "EUCM",
                                          "EQUIRECTANGULAR"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const std::string& message :
         {refusal([&] { camera_model_from_id(static_cast<int>(7 + i)); }),
          refusal([&] { camera_model_from_name(names[i]); })}) {
      EXPECT_THAT(message, HasSubstr(" " + names[i] + " "));
      EXPECT_THAT(message, HasSubstr("SIMPLE_PINHOLE, PINHOLE, SIMPLE_RADIAL, RADIAL, OPENCV, "
                                     "OPENCV_FISHEYE, FULL_OPENCV"));
    }
  }
}

TEST(CameraModels, NonsenseIsRefused) {
  EXPECT_THAT(refusal([] { camera_model_from_id(-1); }), HasSubstr("-1"));
  EXPECT_THAT(refusal([] { camera_model_from_id(18); }), HasSubstr("18"));
  EXPECT_THAT(refusal([] { camera_model_from_name("SIMPLE_RADAIL"); }),
              HasSubstr("did you mean SIMPLE_RADIAL?"));
  EXPECT_THAT(refusal([] { camera_model_from_name(""); }), HasSubstr("''"));
}

TEST(Camera, ValidateTakesRealOnesOnly) {
  for (const Camera& camera : lenses()) EXPECT_NO_THROW(camera.validate()) << describe(camera);
  const Camera good = lenses()[5];
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto broken = [&good](auto change) {
    Camera camera = good;
    change(camera);
    try {
      camera.validate();
    } catch (const Error& error) {
      return error.reason() == Reason::bad_camera;
    }
    return false;
  };
  EXPECT_TRUE(broken([](Camera& c) { c.width = 0; }));
  EXPECT_TRUE(broken([](Camera& c) { c.height = -4; }));
  EXPECT_TRUE(broken([](Camera& c) { c.params.pop_back(); }));
  EXPECT_TRUE(broken([](Camera& c) { c.params.clear(); }));
  EXPECT_TRUE(broken([](Camera& c) { c.params.push_back(0); }));
  EXPECT_TRUE(broken([nan](Camera& c) { c.params[7] = nan; }));
  EXPECT_TRUE(broken([](Camera& c) { c.params[0] = 0; }));
  EXPECT_TRUE(broken([](Camera& c) { c.params[1] = -2900; }));
}

TEST(Camera, PixelsComeBackThroughTheirRays) {
  for (const Camera& camera : lenses()) {
    SCOPED_TRACE(describe(camera));
    for (const Vector2d& pixel : pixels_of(camera)) {
      const auto ray = camera.unproject(pixel);
      ASSERT_TRUE(ray.has_value()) << pixel.transpose();
      EXPECT_NEAR(ray->norm(), 1, 1e-15);
      const auto back = camera.project(*ray * 123.4);
      ASSERT_TRUE(back.has_value()) << pixel.transpose();
      EXPECT_THAT(*back, VectorNear(pixel, 1e-9));
    }
  }
}

TEST(Camera, RaysComeBackThroughTheirPixels) {
  for (const Camera& camera : lenses()) {
    for (const Vector2d& pixel : pixels_of(camera)) {
      const Vector3d point = *camera.unproject(pixel) * 77;
      const auto ray = camera.unproject(*camera.project(point));
      ASSERT_TRUE(ray.has_value());
      EXPECT_THAT(*ray * 77, VectorNear(point, 1e-9)) << describe(camera);
    }
  }
}

// d(f)/d(x) by central differences with Richardson's extrapolation.
template <class Function>
Vector2d slope_of(Function f, double x, double step) {
  const auto central = [&](double h) -> Vector2d { return (f(x + h) - f(x - h)) / (2 * h); };
  return (4 * central(step / 2) - central(step)) / 3;
}

TEST(Camera, JacobiansAgreeWithDifferences) {
  for (const Camera& camera : lenses()) {
    SCOPED_TRACE(describe(camera));
    for (const Vector2d& pixel : pixels_of(camera)) {
      const Vector3d point = *camera.unproject(pixel) * 3;
      Eigen::Matrix<double, 2, 3> by_point;
      Eigen::Matrix<double, 2, Eigen::Dynamic> by_params;
      const auto projected = camera.project(point, &by_point, &by_params);
      ASSERT_TRUE(projected.has_value());
      EXPECT_EQ(*projected, *camera.project(point));
      for (int i = 0; i < 3; ++i) {
        const auto along = [&](double x) {
          Vector3d moved = point;
          moved[i] = x;
          return *camera.project(moved);
        };
        EXPECT_THAT(by_point.col(i), VectorNear(slope_of(along, point[i], 1e-3), 1e-5))
            << "at " << pixel.transpose() << ", coordinate " << i;
      }
      ASSERT_EQ(by_params.cols(), camera.params.size());
      for (int i = 0; i < by_params.cols(); ++i) {
        const auto along = [&](double x) {
          Camera changed = camera;
          changed.params[i] = x;
          return *changed.project(point);
        };
        EXPECT_THAT(by_params.col(i), VectorNear(slope_of(along, camera.params[i], 1e-4), 1e-5))
            << "at " << pixel.transpose() << ", parameter " << i;
      }
    }
  }
}

TEST(Camera, KnownPixelsOfKnownLenses) {
  const Vector3d point(0.5, -0.25, 1);  // s = 0.3125
  const auto pixel = [&point](CameraModel model, std::vector<double> params) {
    return *Camera{model, 100, 100, std::move(params)}.project(point * 2);
  };
  EXPECT_THAT(pixel(CameraModel::simple_pinhole, {100, 50, 40}),
              VectorNear(Vector2d(100, 15), 1e-12));
  EXPECT_THAT(pixel(CameraModel::simple_radial, {100, 50, 40, 0.1}),
              VectorNear(Vector2d(101.5625, 14.21875), 1e-12));
  EXPECT_THAT(pixel(CameraModel::radial, {100, 50, 40, 0.1, 0.2}),
              VectorNear(Vector2d(102.5390625, 13.73046875), 1e-12));
  // x: 2 p1 u v + p2 (s + 2 u^2), y: p1 (s + 2 v^2) + 2 p2 u v.
  EXPECT_THAT(pixel(CameraModel::opencv, {100, 100, 50, 40, 0, 0, 0.01, 0.02}),
              VectorNear(Vector2d(100 - 0.25 + 1.625, 15 + 0.4375 - 0.5), 1e-12));
  // (1 + 0.1 s + 0.2 s^2 + 0.3 s^3) / (1 + 0.4 s + 0.5 s^2 + 0.6 s^3)
  const double numerator = 1 + 0.03125 + 0.2 * 0.09765625 + 0.3 * 0.030517578125;
  const double denominator = 1 + 0.125 + 0.5 * 0.09765625 + 0.6 * 0.030517578125;
  const double scale = numerator / denominator;
  EXPECT_THAT(
      pixel(CameraModel::full_opencv, {100, 100, 50, 40, 0.1, 0.2, 0, 0, 0.3, 0.4, 0.5, 0.6}),
      VectorNear(Vector2d(50 + 50 * scale, 40 - 25 * scale), 1e-12));
  // An equidistant fisheye: 60 degrees off the axis lie f * pi / 3 from the principal point.
  const Camera fisheye{CameraModel::opencv_fisheye, 100, 100, {100, 100, 50, 40, 0, 0, 0, 0}};
  EXPECT_THAT(*fisheye.project({std::sqrt(3), 0, 1}),
              VectorNear(Vector2d(50 + 100 * std::numbers::pi / 3, 40), 1e-12));
}

TEST(Camera, PointsBehindAreNotSeen) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Camera& camera : lenses()) {
    SCOPED_TRACE(describe(camera));
    for (const Vector3d& point :
         {Vector3d(0, 0, 0), Vector3d(1, 1, 0), Vector3d(0.1, 0, -1), Vector3d(0, 0, -1e-300),
          Vector3d(nan, 0, 1), Vector3d(0, nan, 1), Vector3d(0, 0, nan), Vector3d(infinity, 0, 1),
          Vector3d(0, -infinity, 1), Vector3d(0, 0, -infinity), Vector3d(1, 1, 1e-300)}) {
      EXPECT_FALSE(camera.project(point).has_value()) << point.transpose();
    }
    EXPECT_FALSE(camera.unproject({nan, 0}).has_value());
    EXPECT_FALSE(camera.unproject({0, infinity}).has_value());
  }
}

// Walks a ray outwards: what is seen must move outwards on the picture with it.
TEST(Camera, NothingFoldsBackIntoThePicture) {
  std::vector<Camera> cameras = lenses();
  cameras.push_back({CameraModel::simple_radial, 100, 100, {100, 50, 50, -0.5}});
  cameras.push_back({CameraModel::radial, 100, 100, {100, 50, 50, -0.6, 0.1}});
  cameras.push_back({CameraModel::opencv, 100, 100, {100, 100, 50, 50, 0, 0, 0.02, 0.01}});
  cameras.push_back({CameraModel::opencv, 100, 100, {100, 100, 50, 50, 0.3, -0.2, 0.02, 0.01}});
  cameras.push_back({CameraModel::opencv_fisheye, 100, 100, {50, 50, 50, 50, 0.1, -0.2, 0, 0}});
  cameras.push_back({CameraModel::full_opencv,
                     9,
                     9,
                     {9, 9, 4, 4, 0, 0, 0, 0, 0, -0.8, 0, 0}});  // a pole at s = 1.25
  cameras.push_back({CameraModel::full_opencv, 9, 9, {9, 9, 4, 4, 0, 0, 0, 0, 0, 0, 0.5, 0}});
  for (const Camera& camera : cameras) {
    SCOPED_TRACE(describe(camera));
    for (double heading = 0.1; heading < 6.3; heading += 0.7) {
      double last = -1;
      bool lost = false;
      for (double radius = 1e-3; radius < 1e4; radius *= 1.05) {
        const auto pixel =
            camera.project({radius * std::cos(heading), radius * std::sin(heading), 1});
        if (!pixel) {
          lost = true;
          continue;
        }
        EXPECT_FALSE(lost) << "seen again at radius " << radius;
        const double out = (*pixel - camera.principal_point()).norm();
        EXPECT_GT(out, last) << "at radius " << radius;
        last = out;
      }
    }
  }
}

TEST(Camera, TheMonotoneRangeEndsWhereTheDerivativeVanishes) {
  const Camera camera{CameraModel::simple_radial, 100, 100, {100, 50, 50, -0.1}};
  const double end = std::sqrt(1 / 0.3);
  EXPECT_TRUE(camera.project({end * (1 - 1e-9), 0, 1}).has_value());
  EXPECT_FALSE(camera.project({end * (1 + 1e-9), 0, 1}).has_value());
  // The widest picture radius is 100 * end * (1 - 0.1 end^2) = 121.7.
  EXPECT_TRUE(camera.unproject({50 + 121.7, 50}).has_value());
  EXPECT_FALSE(camera.unproject({50 + 121.8, 50}).has_value());
  EXPECT_FALSE(camera.unproject({1e6, -1e6}).has_value());
}

TEST(Camera, AFoldThatClosesAgainIsNotJumped) {
  // 1 + 3 k1 s + 5 k2 s^2 is negative only between s = 0.4 and 0.5: beyond, the radius grows again.
  const double k2 = 1 / (5 * 0.4 * 0.5);
  const double k1 = -(0.4 + 0.5) * 5 * k2 / 3;
  const Camera camera{CameraModel::radial, 100, 100, {100, 50, 50, k1, k2}};
  EXPECT_TRUE(camera.project({std::sqrt(0.399), 0, 1}).has_value());
  EXPECT_FALSE(camera.project({std::sqrt(0.45), 0, 1}).has_value());
  EXPECT_FALSE(camera.project({std::sqrt(0.6), 0, 1}).has_value());
  EXPECT_FALSE(camera.project({3, 0, 1}).has_value());
}

// Whatever the parameters: an answer of unproject projects back, and nothing hangs or overflows.
TEST(Camera, WildParametersGiveTrueRaysOrNone) {
  std::mt19937 random(23);
  std::normal_distribution<double> normal;
  int rays = 0;
  for (int round = 0; round < 700; ++round) {
    Camera camera{camera_model_from_id(round % 7), 100, 100, {}};
    const std::size_t count = camera_model_parameter_count(camera.model);
    const double wildness = std::pow(10, 3 * normal(random) - 2);
    for (std::size_t i = 0; i < count; ++i) camera.params.push_back(wildness * normal(random));
    const std::size_t focals = camera.model == CameraModel::simple_pinhole ||
                                       camera.model == CameraModel::simple_radial ||
                                       camera.model == CameraModel::radial
                                   ? 1
                                   : 2;
    for (std::size_t i = 0; i < focals + 2; ++i) camera.params[i] = i < focals ? 80 + i : 50;
    for (int i = 0; i < 10; ++i) {
      const Vector2d pixel(50 + 60 * normal(random), 50 + 60 * normal(random));
      const auto ray = camera.unproject(pixel);
      if (!ray || ray->z() <= 1e-6) continue;
      const auto back = camera.project(*ray);
      ASSERT_TRUE(back.has_value()) << describe(camera);
      EXPECT_THAT(*back, VectorNear(pixel, 1e-6)) << describe(camera);
      ++rays;
    }
  }
  EXPECT_GT(rays, 2000);
}

TEST(Camera, FisheyeRaysGoBeyondARightAngle) {
  const Camera camera{CameraModel::opencv_fisheye, 800, 800, {200, 200, 400, 400, 0, 0, 0, 0}};
  const auto ray = camera.unproject({400 + 200 * 2.0, 400});  // 2 rad off the axis
  ASSERT_TRUE(ray.has_value());
  EXPECT_THAT(*ray, VectorNear(Vector3d(std::sin(2.0), 0, std::cos(2.0)), 1e-12));
  EXPECT_FALSE(camera.project(*ray).has_value());
  EXPECT_FALSE(camera.unproject({400 + 200 * 3.2, 400}).has_value());  // beyond pi
  EXPECT_THAT(*camera.unproject({400, 400}), VectorNear(Vector3d(0, 0, 1), 0));
}

TEST(Camera, FisheyeIsSmoothAcrossItsSeries) {
  const Camera camera = lenses()[6];
  const auto scale_at = [&camera](double s) {
    return (camera.project({std::sqrt(s), 0, 1})->x() - camera.principal_point().x()) /
           std::sqrt(s);
  };
  EXPECT_NEAR(scale_at(1e-5 * (1 - 1e-9)), scale_at(1e-5 * (1 + 1e-9)), 1e-9);
}

}  // namespace
}  // namespace skyfix
