// Small worlds for tests of this room and the rooms above. For tests only.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "skyfix/map/map_folder.h"

namespace skyfix {

// A map folder with the given cameras (one image and a few points each), gone when it leaves scope.
class TestMap {
 public:
  struct CameraSpec {
    Camera camera;
    std::string make;
    std::string model;
  };

  explicit TestMap(const std::vector<CameraSpec>& cameras, const Georegistration& geo = {})
      : folder_(
            std::filesystem::temp_directory_path() /
            ("skyfix_test_map_" + std::to_string(::getpid()) + "_" + std::to_string(counter()++))),
        map_(make(cameras, geo, folder_)) {}
  ~TestMap() { std::filesystem::remove_all(folder_); }
  TestMap(const TestMap&) = delete;
  TestMap& operator=(const TestMap&) = delete;

  const Map& map() const { return map_; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  static int& counter() {
    static int count = 0;
    return count;
  }

  static Map make(const std::vector<CameraSpec>& cameras, const Georegistration& geo,
                  const std::filesystem::path& folder) {
    ColmapModel model;
    constexpr int kPoints = 5;
    for (int p = 0; p < kPoints; ++p) {
      ColmapPoint point;
      point.id = PointId(p + 1);
      point.xyz = {p - 2.0, 0.3 * p, 10};
      model.points.push_back(point);
    }
    for (std::size_t c = 0; c < cameras.size(); ++c) {
      const CameraId id(static_cast<std::uint32_t>(c + 1));
      model.cameras[id] = cameras[c].camera;
      ColmapImage image;
      image.id = ImageId(static_cast<std::uint32_t>(c + 1));
      image.camera = id;
      image.name = "map_" + std::to_string(c) + ".jpg";
      image.cam_from_world.translation = {double(c), 0, 0};
      for (std::uint32_t p = 0; p < kPoints; ++p) {
        const auto pixel = cameras[c].camera.project(image.cam_from_world * model.points[p].xyz);
        image.observations.push_back({pixel.value(), model.points[p].id});
        model.points[p].track.push_back({image.id, p});
      }
      model.images.push_back(image);
    }
    MapWriter writer(model, geo);
    for (std::size_t c = 0; c < cameras.size(); ++c) {
      writer.set_camera_identity(CameraId(static_cast<std::uint32_t>(c + 1)), cameras[c].make,
                                 cameras[c].model);
    }
    writer.write(folder, false);
    return Map::open(folder);
  }

  std::filesystem::path folder_;
  Map map_;
};

}  // namespace skyfix
