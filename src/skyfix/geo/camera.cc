#include "skyfix/geo/camera.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/geo/distortion.h"

namespace skyfix {
namespace {

// COLMAP's names by number; the first ones are supported.
constexpr std::array<std::string_view, 18> kNames = {
    "SIMPLE_PINHOLE",
    "PINHOLE",
    "SIMPLE_RADIAL",
    "RADIAL",
    "OPENCV",
    "OPENCV_FISHEYE",
    "FULL_OPENCV",
    "FOV",
    "SIMPLE_RADIAL_FISHEYE",
    "RADIAL_FISHEYE",
    "THIN_PRISM_FISHEYE",
    "RAD_TAN_THIN_PRISM_FISHEYE",
    "SIMPLE_DIVISION",
    "DIVISION",
    "SIMPLE_FISHEYE",
    "FISHEYE",
    "EUCM",
    "EQUIRECTANGULAR",
};
constexpr std::size_t kSupported = 7;

[[noreturn]] void refuse(const std::string& what) {
  std::string supported;
  for (std::size_t i = 0; i < kSupported; ++i) {
    supported += (i == 0 ? "" : ", ") + std::string(kNames[i]);
  }
  throw Error(Reason::unsupported_camera_model,
              what + "; supported are " + supported +
                  ". Undistort the model (colmap image_undistorter) or estimate it again with one "
                  "of these");
}

[[noreturn]] void refuse_known(std::string_view name) {
  refuse("the camera model " + std::string(name) + " is not supported");
}

int quarters_clockwise(int quarters) { return ((quarters % 4) + 4) % 4; }

}  // namespace

std::string_view camera_model_name(CameraModel model) {
  const auto index = static_cast<std::size_t>(model);
  return index < kNames.size() ? kNames[index] : "unknown";
}

CameraModel camera_model_from_id(int id) {
  if (id >= 0 && static_cast<std::size_t>(id) < kSupported) return static_cast<CameraModel>(id);
  if (id >= 0 && static_cast<std::size_t>(id) < kNames.size()) refuse_known(kNames[id]);
  refuse("the camera model number " + std::to_string(id) + " is not one of COLMAP's");
}

CameraModel camera_model_from_name(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  const auto index = static_cast<std::size_t>(found - kNames.begin());
  if (index < kSupported) return static_cast<CameraModel>(index);
  if (found != kNames.end()) refuse_known(name);
  const std::vector<std::string> names(kNames.begin(), kNames.begin() + kSupported);
  const auto meant = nearest_name(name, names);
  refuse("'" + std::string(name) + "' is not the name of a camera model" +
         (meant ? " (did you mean " + *meant + "?)" : ""));
}

std::size_t camera_model_parameter_count(CameraModel model) {
  return static_cast<std::size_t>(internal::model_layout(model).parameter_count());
}

void Camera::validate() const {
  if (static_cast<std::size_t>(model) >= kSupported) camera_model_from_id(static_cast<int>(model));
  const auto fail = [this](const std::string& what) {
    throw Error(Reason::bad_camera, std::string(camera_model_name(model)) + " camera: " + what);
  };
  if (width <= 0 || height <= 0) {
    fail("the size " + std::to_string(width) + " x " + std::to_string(height) +
         " must be positive");
  }
  const std::size_t wanted = camera_model_parameter_count(model);
  if (params.size() != wanted) {
    fail("it has " + std::to_string(params.size()) + " parameters where " + std::to_string(wanted) +
         " are needed");
  }
  for (const double value : params) {
    if (!std::isfinite(value)) fail("a parameter is not a finite number");
  }
  if (!(focal_x() > 0) || !(focal_y() > 0)) fail("the focal length must be positive");
}

double Camera::focal_y() const { return params[internal::model_layout(model).focal_count - 1]; }

Eigen::Vector2d Camera::principal_point() const {
  const int at = internal::model_layout(model).focal_count;
  return {params[at], params[at + 1]};
}

std::optional<Eigen::Vector2d> Camera::project(const Eigen::Vector3d& point) const {
  return project(point, nullptr, nullptr);
}

std::optional<Eigen::Vector2d> Camera::project(
    const Eigen::Vector3d& point, Eigen::Matrix<double, 2, 3>* by_point,
    Eigen::Matrix<double, 2, Eigen::Dynamic>* by_params) const {
  if (!(point.z() > 0)) return std::nullopt;
  const Eigen::Vector2d plane = point.head<2>() / point.z();
  const internal::Distortion distortion(model, params);
  const auto distorted = distortion.distort(plane);
  if (!distorted) return std::nullopt;
  const Eigen::Vector2d focal(focal_x(), focal_y());
  const Eigen::Vector2d pixel = focal.cwiseProduct(distorted->point) + principal_point();
  if (!pixel.allFinite()) return std::nullopt;

  if (by_point != nullptr) {
    by_point->leftCols<2>() =
        focal.asDiagonal() * distortion.by_plane(plane, *distorted) / point.z();
    by_point->col(2) = -by_point->leftCols<2>() * plane;
  }
  if (by_params != nullptr) {
    const internal::ModelLayout& layout = internal::model_layout(model);
    by_params->setZero(2, layout.parameter_count());
    (*by_params)(0, 0) = distorted->point.x();
    (*by_params)(1, layout.focal_count - 1) = distorted->point.y();
    by_params->middleCols<2>(layout.focal_count).setIdentity();
    for (int i = 0; i < layout.radial_count; ++i) {
      by_params->col(layout.radial_index(i)) =
          focal.cwiseProduct(distortion.by_radial(i, plane, *distorted));
    }
    if (layout.tangential_index >= 0) {
      by_params->middleCols<2>(layout.tangential_index) =
          focal.asDiagonal() * internal::Distortion::by_tangential(plane);
    }
  }
  return pixel;
}

std::optional<Eigen::Vector3d> Camera::unproject(const Eigen::Vector2d& pixel) const {
  const Eigen::Vector2d focal(focal_x(), focal_y());
  const Eigen::Vector2d distorted = (pixel - principal_point()).cwiseQuotient(focal);
  return internal::Distortion(model, params).ray(distorted);
}

Camera Camera::scaled(int new_width, int new_height) const {
  assert(width > 0 && height > 0 && new_width > 0 && new_height > 0);
  const double x = static_cast<double>(new_width) / width;
  const double y = static_cast<double>(new_height) / height;
  const int focals = internal::model_layout(model).focal_count;
  Camera result = *this;
  result.width = new_width;
  result.height = new_height;
  if (focals == 1) {
    result.params[0] *= (x + y) / 2;  // they differ by the rounding of the size
  } else {
    result.params[0] *= x;
    result.params[1] *= y;
  }
  result.params[focals] *= x;
  result.params[focals + 1] *= y;
  return result;
}

Camera Camera::turned(int quarters) const {
  const internal::ModelLayout& layout = internal::model_layout(model);
  const int turn = quarters_clockwise(quarters);
  Camera result = *this;
  const Eigen::Vector2d centre = pixel_after_turn(principal_point(), turn, width, height);
  result.params[layout.focal_count] = centre.x();
  result.params[layout.focal_count + 1] = centre.y();
  if (turn % 2 == 1) {
    std::swap(result.width, result.height);
    std::swap(result.params[0], result.params[layout.focal_count - 1]);
  }
  for (int i = 0; i < turn && layout.tangential_index >= 0; ++i) {
    // (p2, p1) turns as a vector of the picture does: (x, y) -> (-y, x).
    double& p1 = result.params[layout.tangential_index];
    double& p2 = result.params[layout.tangential_index + 1];
    const double p1_before = p1;
    p1 = p2;
    p2 = -p1_before;
  }
  return result;
}

Eigen::Matrix3d quarter_turn_rotation(int quarters) {
  const Eigen::Matrix3d once = (Eigen::Matrix3d() << 0, -1, 0, 1, 0, 0, 0, 0, 1).finished();
  Eigen::Matrix3d turned_cam_from_cam = Eigen::Matrix3d::Identity();
  for (int i = 0; i < quarters_clockwise(quarters); ++i) {
    turned_cam_from_cam = once * turned_cam_from_cam;
  }
  return turned_cam_from_cam;
}

Eigen::Vector2d pixel_before_turn(const Eigen::Vector2d& pixel, int quarters, int width,
                                  int height) {
  const bool sideways = quarters_clockwise(quarters) % 2 == 1;
  return pixel_after_turn(pixel, -quarters_clockwise(quarters), sideways ? height : width,
                          sideways ? width : height);
}

Eigen::Vector2d pixel_after_turn(const Eigen::Vector2d& pixel, int quarters, int width,
                                 int height) {
  switch (quarters_clockwise(quarters)) {
    case 1:
      return {height - pixel.y(), pixel.x()};
    case 2:
      return {width - pixel.x(), height - pixel.y()};
    case 3:
      return {pixel.y(), width - pixel.x()};
    default:
      return pixel;
  }
}

}  // namespace skyfix
