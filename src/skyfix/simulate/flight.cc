#include "skyfix/simulate/flight.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include <numbers>

#include "skyfix/base/error.h"
#include "skyfix/simulate/noise.h"

namespace skyfix {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kFocalPerWidth = 0.75;
constexpr double kAspect = 1.5;
constexpr double kRadialDistortion = -0.012;
constexpr double kSteepestTiltDeg = 20;
constexpr double kLargestHalfSizeM = 3000;  // a relief of 9 million nodes

void require(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw Error(Reason::bad_option,
              fmt::format("{} is {}; it must be between {} and {}", name, value, low, high));
}

// Lines of photos: north-going and south-going in turn, evenly shared.
struct Lawn {
  int lines = 1;
  int per_line = 1;  // of the longest line
  double line_spacing_m = 0;
  double photo_spacing_m = 0;
};

Lawn lawn_of(const SimulateOptions& o) {
  Lawn lawn;
  lawn.line_spacing_m = (1 - o.overlap) * o.altitude_m / kFocalPerWidth;
  lawn.photo_spacing_m = lawn.line_spacing_m / kAspect;
  const double square = std::sqrt(o.map_images * lawn.photo_spacing_m / lawn.line_spacing_m);
  lawn.lines = std::max(1, int(std::lround(square)));
  lawn.per_line = (o.map_images + lawn.lines - 1) / lawn.lines;
  lawn.lines = (o.map_images + lawn.per_line - 1) / lawn.per_line;
  return lawn;
}

}  // namespace

void SimulateOptions::validate() const {
  require("map_images", map_images, 2, 5000);
  require("query_images", query_images, 0, 5000);
  require("width_px", width_px, 96, 8192);
  require("altitude_m", altitude_m, 20, 500);
  require("altitude_query_m", altitude_query_m, 20, 500);
  require("overlap", overlap, 0.3, 0.95);
  require("gps_sigma_m", gps_sigma_m, 0, 1000);
  require("points", points, 10, 5'000'000);
  require("jpeg_quality", jpeg_quality, 1, 100);
  require("origin latitude", origin.latitude_deg, -85, 85);
  require("origin longitude", origin.longitude_deg, -180, 180);
  require("origin height", origin.h_ellipsoid, -1000, 10000);
  const double half_size = scene_half_size_m(*this);
  if (half_size > kLargestHalfSizeM) {
    throw Error(
        Reason::bad_option,
        fmt::format("{} map photos from {} m at overlap {} need a scene of {:.0f} m; at most "
                    "{:.0f} m: take fewer photos, a lower flight or more overlap",
                    map_images, altitude_m, overlap, 2 * half_size, 2 * kLargestHalfSizeM));
  }
}

double scene_half_size_m(const SimulateOptions& options) {
  constexpr double kRoomM = 15;  // relief below the mean, jitter of the positions
  const double half_diagonal = std::hypot(0.5, 0.5 / kAspect) / kFocalPerWidth;
  const double steepest = std::atan(half_diagonal) + kSteepestTiltDeg * kDegree;
  const double altitude = std::max(options.altitude_m, options.altitude_query_m) + kRoomM;
  return sim::map_half_extent_m(options).maxCoeff() + altitude * std::tan(steepest) + kRoomM;
}

namespace sim {
namespace {

Rigid3 pose_of(const GimbalAngles& gimbal, const Eigen::Vector3d& centre) {
  const Eigen::Quaterniond rotation = cam_from_enu(gimbal);
  return {rotation, -(rotation * centre)};
}

// Draws the photos of one flight, numbering names on.
class Photographer {
 public:
  explicit Photographer(const SimulateOptions& options)
      : options_(options), enu_(options.origin), rng_(options.seed, 3) {}

  Rng& rng() { return rng_; }

  SimulatedPhoto take(const GimbalAngles& gimbal, const Eigen::Vector3d& centre) {
    SimulatedPhoto photo;
    photo.name = fmt::format("DJI_{:04d}.JPG", ++taken_);
    photo.gimbal = gimbal;
    photo.cam_from_enu = pose_of(gimbal, centre);
    // Braces: the draws happen from left to right with every compiler.
    const Eigen::Vector3d error{rng_.normal(), rng_.normal(), 2 * rng_.normal()};
    photo.gps = enu_.wgs84_from_enu(centre + options_.gps_sigma_m * error);
    return photo;
  }

  double jitter(double size) { return rng_.uniform(-size, size); }

 private:
  const SimulateOptions& options_;
  EnuFrame enu_;
  Rng rng_;
  int taken_ = 0;
};

double yaw_within_half_turn(double yaw_deg) {
  const double turned = std::fmod(yaw_deg + 540, 360) - 180;
  return turned < -180 ? turned + 360 : turned;
}

std::vector<SimulatedPhoto> map_flight(const SimulateOptions& o, Photographer& photographer) {
  const Lawn lawn = lawn_of(o);
  std::vector<SimulatedPhoto> photos;
  for (int i = 0; i < o.map_images; ++i) {
    const int line = i / lawn.per_line;
    const bool north = line % 2 == 0;
    const int along = north ? i % lawn.per_line : lawn.per_line - 1 - i % lawn.per_line;
    const Eigen::Vector3d centre{
        (line - 0.5 * (lawn.lines - 1)) * lawn.line_spacing_m + photographer.jitter(0.6),
        (along - 0.5 * (lawn.per_line - 1)) * lawn.photo_spacing_m + photographer.jitter(0.6),
        o.altitude_m + photographer.jitter(0.5)};
    GimbalAngles gimbal;
    gimbal.yaw_deg = yaw_within_half_turn((north ? 0 : 180) + photographer.jitter(2));
    gimbal.pitch_deg = -90 + photographer.rng().uniform(1, 3);
    gimbal.roll_deg = photographer.jitter(1);
    photos.push_back(photographer.take(gimbal, centre));
  }
  return photos;
}

// A winding path (a Lissajous figure) over the whole map that never follows the map's lines, the
// camera turning as it goes through every heading; each fifth photo looks inwards at 10 to 20
// degrees from nadir.
std::vector<SimulatedPhoto> query_flight(const SimulateOptions& o, Photographer& photographer) {
  constexpr int kObliqueEvery = 5;
  const Eigen::Vector2d extent = map_half_extent_m(o);
  Rng& rng = photographer.rng();
  const double turn = 2 * std::numbers::pi;
  const double phase = rng.uniform(0, turn);
  const double first_yaw_deg = rng.uniform(-180, 180);
  std::vector<SimulatedPhoto> photos;
  for (int i = 0; i < o.query_images; ++i) {
    const double along = double(i) / o.query_images;  // of the whole flight
    const Eigen::Vector3d centre{
        extent.x() * (0.9 * std::sin(turn * along + phase) + photographer.jitter(0.08)),
        extent.y() * (0.9 * std::sin(2 * turn * along) + photographer.jitter(0.08)),
        o.altitude_query_m + photographer.jitter(3)};
    GimbalAngles gimbal;
    gimbal.roll_deg = photographer.jitter(1);
    if (i % kObliqueEvery == kObliqueEvery - 1) {
      const double inwards = std::atan2(-centre.x(), -centre.y()) / kDegree;
      gimbal.yaw_deg = yaw_within_half_turn(inwards + photographer.jitter(60));
      gimbal.pitch_deg = -90 + rng.uniform(10, kSteepestTiltDeg - 1);
    } else {
      constexpr double kTurns = 2.2;
      gimbal.yaw_deg =
          yaw_within_half_turn(first_yaw_deg + 360 * kTurns * along + photographer.jitter(15));
      gimbal.pitch_deg = -90 + rng.uniform(0, 3);
    }
    photos.push_back(photographer.take(gimbal, centre));
  }
  return photos;
}

}  // namespace

Camera flight_camera(const SimulateOptions& options) {
  const int width = options.width_px;
  const int height = int(std::lround(width / kAspect));
  return {CameraModel::simple_radial,
          width,
          height,
          {kFocalPerWidth * width, 0.5 * width, 0.5 * height, kRadialDistortion}};
}

Eigen::Vector2d map_half_extent_m(const SimulateOptions& options) {
  const Lawn lawn = lawn_of(options);
  return {0.5 * (lawn.lines - 1) * lawn.line_spacing_m,
          0.5 * (lawn.per_line - 1) * lawn.photo_spacing_m};
}

SimulatedFlight plan_flight(const SimulateOptions& options) {
  Photographer photographer(options);
  SimulatedFlight flight;
  flight.camera = flight_camera(options);
  flight.origin = options.origin;
  flight.map_photos = map_flight(options, photographer);
  flight.query_photos = query_flight(options, photographer);
  return flight;
}

}  // namespace sim
}  // namespace skyfix
