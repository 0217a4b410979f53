// A procedural aerial scene with exact truth: relief, fields, roads, buildings, repeated texture,
// water; ray-cast on the CPU. A lawn-mower flight of map photos, an off-path query flight with
// other altitude, yaw, light and a little blur. Deterministic from the seed, whatever the thread
// count. Both a product (skyfix simulate) and the fixture of all geometry tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skyfix/base/progress.h"
#include "skyfix/geo/camera.h"
#include "skyfix/geo/geodesy.h"
#include "skyfix/image/image.h"
#include "skyfix/map/colmap_model.h"

namespace skyfix {

struct SimulateOptions {
  std::uint64_t seed = 1;
  int map_images = 60;
  int query_images = 40;
  int width_px = 1200;     // 3:2 photos
  double altitude_m = 80;  // map flight, above the mean ground
  double altitude_query_m = 95;
  double overlap = 0.7;      // of neighbouring map photos, both ways
  double gps_sigma_m = 0.5;  // noise of the EXIF positions, horizontal; twice that vertically
  int points = 12000;        // about how many 3D points the model gets
  Wgs84 origin{46.8425, -91.9940, 0};
  int jpeg_quality = 92;
  // Throws Error(bad_option) naming the option, its value and the range allowed.
  void validate() const;
};

// Half the side of the square scene that every photo of these flights lies within, oblique ones
// included.
double scene_half_size_m(const SimulateOptions& options);

// The ground and everything on it as a height field with colour. Coordinates: ENU metres.
class Scene {
 public:
  Scene(std::uint64_t seed, double half_size_m);
  ~Scene();
  double half_size_m() const;
  // Height of the surface (buildings included) at (east, north).
  double height(double east, double north) const;
  // First hit of a ray going down; false when it leaves the scene.
  bool cast(const Eigen::Vector3d& origin, const Eigen::Vector3d& direction,
            Eigen::Vector3d* hit) const;

 private:
  friend class Renderer;
  struct Data;
  std::unique_ptr<Data> data_;
};

struct Light {
  double azimuth_deg = 140;
  double elevation_deg = 50;
  double gain = 1;
  double gamma = 1;
};

// RGB picture of the scene: one ray a pixel and four more at edges; textures are filtered by the
// pixel's footprint, so that they look alike from neighbouring altitudes. Haze where a ray leaves
// the scene. Equal arguments give equal bytes. Throws Error(bad_camera).
Image render(const Scene& scene, const Camera& camera, const Rigid3& cam_from_enu,
             const Light& light, double blur_sigma_px, std::uint64_t noise_seed);

struct SimulatedPhoto {
  std::string name;  // DJI_0001.JPG ...
  Rigid3 cam_from_enu;
  GimbalAngles gimbal;
  Wgs84 gps;  // with noise
};

// The geometry alone, without pixels: what most tests need. `model` has exact tracks (visibility by
// ray casting) and observations with exact projections.
struct SimulatedFlight {
  Camera camera;
  Wgs84 origin;
  std::vector<SimulatedPhoto> map_photos;
  std::vector<SimulatedPhoto> query_photos;
  ColmapModel model;
};
// Points are drawn at random on the surface; the scene should reach scene_half_size_m(options).
SimulatedFlight simulate_flight(const SimulateOptions& options, const Scene& scene);

// Writes images/map/*.JPG, images/query/*.JPG (EXIF GPS, gimbal XMP), sparse/0 (COLMAP binary
// model), reference.json (format "skyfix-reference", version 1). The model's observations are
// detected-feature-like points: textured scene points seen by at least two photos. Throws
// Error(unwritable_output) and refuses a folder that holds other files.
void simulate(const SimulateOptions& options, const std::filesystem::path& out, Progress& progress);

}  // namespace skyfix
