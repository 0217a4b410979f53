#include "skyfix/simulate/tracks.h"

#include <algorithm>
#include <cmath>

#include "skyfix/base/parallel.h"
#include "skyfix/simulate/flight.h"
#include "skyfix/simulate/materials.h"
#include "skyfix/simulate/world.h"

namespace skyfix::sim {
namespace {

// A ray to a point of the surface ends within rounding of it, unless something stands before it.
constexpr double kOnSurfaceM = 0.01;

struct Sighting {
  std::uint32_t photo = 0;
  Eigen::Vector2d pixel;
};

std::vector<Sighting> sightings(const Scene& scene, const SimulatedFlight& flight,
                                const Eigen::Vector3d& point) {
  std::vector<Sighting> found;
  for (std::uint32_t i = 0; i < flight.map_photos.size(); ++i) {
    const auto pixel = observe(scene, flight.camera, flight.map_photos[i].cam_from_enu, point);
    if (pixel) found.push_back({i, *pixel});
  }
  return found;
}

// The colour seen from above, as a camera would show it in plain light.
void set_colour(const Scene& scene, const Eigen::Vector3d& camera_centre, ColmapPoint& point) {
  constexpr float kFootprintM = 0.1f;
  constexpr float kExposure = 1.3f;
  const World& world = Renderer::world(scene);
  const auto hit = world.cast({camera_centre, point.xyz - camera_centre});
  if (!hit) return;
  const Colour linear = kExposure * albedo(world, *hit, kFootprintM);
  for (int c = 0; c < 3; ++c) {
    const float shown = std::pow(std::clamp(linear[c], 0.0f, 1.0f), 1 / 2.2f);
    point.rgb[c] = std::uint8_t(255 * shown + 0.5f);
  }
}

}  // namespace

std::optional<Eigen::Vector2d> observe(const Scene& scene, const Camera& camera,
                                       const Rigid3& cam_from_enu, const Eigen::Vector3d& point) {
  const std::optional<Eigen::Vector2d> pixel = camera.project(cam_from_enu * point);
  if (!pixel || !(pixel->x() >= 0 && pixel->x() < camera.width) ||
      !(pixel->y() >= 0 && pixel->y() < camera.height)) {
    return std::nullopt;
  }
  const Eigen::Vector3d centre = cam_from_enu.centre();
  Eigen::Vector3d hit;
  if (!scene.cast(centre, point - centre, &hit)) return std::nullopt;
  if ((hit - point).norm() > kOnSurfaceM) return std::nullopt;
  return pixel;
}

ColmapModel build_model(const Scene& scene, const SimulatedFlight& flight,
                        const std::vector<Eigen::Vector3d>& surface_points, std::size_t limit) {
  std::vector<std::vector<Sighting>> seen(surface_points.size());
  parallel_for(surface_points.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) seen[i] = sightings(scene, flight, surface_points[i]);
  });
  ColmapModel model;
  const CameraId camera(1);
  model.cameras[camera] = flight.camera;
  for (const SimulatedPhoto& photo : flight.map_photos) {
    const ImageId id(std::uint32_t(model.images.size() + 1));
    model.images.push_back({id, camera, photo.name, photo.cam_from_enu, {}});
  }
  for (std::size_t i = 0; i < surface_points.size() && model.points.size() < limit; ++i) {
    if (seen[i].size() < 2) continue;
    ColmapPoint point;
    point.id = PointId(model.points.size() + 1);
    point.xyz = surface_points[i];
    point.error_px = 0;
    set_colour(scene, flight.map_photos[seen[i].front().photo].cam_from_enu.centre(), point);
    for (const Sighting& sighting : seen[i]) {
      ColmapImage& image = model.images[sighting.photo];
      point.track.push_back({image.id, std::uint32_t(image.observations.size())});
      image.observations.push_back({sighting.pixel, point.id});
    }
    model.points.push_back(std::move(point));
  }
  return model;
}

std::vector<Eigen::Vector3d> random_surface_points(const SimulateOptions& options,
                                                   const Scene& scene, std::size_t count) {
  const Camera camera = flight_camera(options);
  const Eigen::Vector2d half_footprint =
      0.5 * options.altitude_m / camera.focal_x() * Eigen::Vector2d(camera.width, camera.height);
  const Eigen::Vector2d reach =
      (map_half_extent_m(options) + half_footprint).cwiseMin(scene.half_size_m());
  Rng rng(options.seed, 4);
  std::vector<Eigen::Vector3d> points;
  points.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double east = rng.uniform(-reach.x(), reach.x());
    const double north = rng.uniform(-reach.y(), reach.y());
    points.emplace_back(east, north, scene.height(east, north));
  }
  return points;
}

}  // namespace skyfix::sim

namespace skyfix {

SimulatedFlight simulate_flight(const SimulateOptions& options, const Scene& scene) {
  options.validate();
  SimulatedFlight flight = sim::plan_flight(options);
  // At the rim, points that only one photo sees are dropped: draw some more.
  const std::size_t drawn = std::size_t(options.points) + std::size_t(options.points) / 2;
  const auto points = sim::random_surface_points(options, scene, drawn);
  flight.model = sim::build_model(scene, flight, points, std::size_t(options.points));
  return flight;
}

}  // namespace skyfix
