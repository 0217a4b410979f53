// Maps with chosen cameras and nothing else of interest. For this room's tests only.
#pragma once

#include <Eigen/Geometry>
#include <filesystem>
#include <string>
#include <vector>

#include "skyfix/map/map_folder.h"

namespace skyfix {

struct SmallMapImage {
  std::string name;
  Eigen::Vector3d centre;
  Eigen::Quaterniond cam_from_map = Eigen::Quaterniond(0, 1, 0, 0);  // looking down
};

// Writes and opens a map of these images in this order (names must be in natural order), all seeing
// one point.
inline Map small_map(const std::filesystem::path& folder, const std::vector<SmallMapImage>& images,
                     const Georegistration& georegistration = {}) {
  ColmapModel model;
  Camera camera;
  camera.model = CameraModel::simple_pinhole;
  camera.width = 640;
  camera.height = 480;
  camera.params = {500, 320, 240};
  model.cameras[CameraId(1)] = camera;
  ColmapPoint point;
  point.id = PointId(1);
  point.xyz.setZero();
  for (const SmallMapImage& small : images) {
    ColmapImage image;
    image.id = ImageId(std::uint32_t(model.images.size() + 1));
    image.camera = CameraId(1);
    image.name = small.name;
    image.cam_from_world.rotation = small.cam_from_map;
    image.cam_from_world.translation = -(small.cam_from_map * small.centre);
    image.observations.push_back({Eigen::Vector2d(320, 240), point.id});
    point.track.push_back({image.id, 0});
    model.images.push_back(image);
  }
  model.points.push_back(point);
  MapWriter(model, georegistration).write(folder, true);
  return Map::open(folder);
}

}  // namespace skyfix
