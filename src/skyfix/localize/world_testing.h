// A small simulated flight and its map, made once for the test binary, and matching for it. For
// tests only.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "skyfix/localize/localizer.h"
#include "skyfix/localize/map_build.h"
#include "skyfix/simulate/simulate.h"

namespace skyfix {

// Matching on the CPU alone, for tests that are about something else.
inline MatchContext cpu() {
  static PoolMatcher matcher;
  return {matcher};
}

class SmallWorld {
 public:
  static const SmallWorld& instance() {
    static const SmallWorld world;
    return world;
  }
  ~SmallWorld() { std::filesystem::remove_all(folder_); }

  const Map& map() const { return *map_; }
  const MapBuildReport& report() const { return report_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path map_photos() const { return folder_ / "data/images/map"; }
  std::filesystem::path model() const { return folder_ / "data/sparse/0"; }
  InputList queries() const { return list_input(folder_ / "data/images/query"); }
  // True poses by file name.
  const Rigid3& truth(const std::string& name) const { return truth_.at(name); }
  // The map is built at the true origin: the model's frame is ENU.
  MapBuildOptions build_options(const std::string& out) const {
    MapBuildOptions options;
    options.colmap = model();
    options.images = map_photos();
    options.out = folder_ / out;
    options.enu_origin = SimulateOptions().origin;
    return options;
  }

 private:
  SmallWorld()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("skyfix_small_world_" + std::to_string(::getpid()))) {
    SimulateOptions options;
    options.map_images = 9;
    options.query_images = 4;
    options.width_px = 480;
    options.points = 2500;
    NoProgress quiet;
    std::filesystem::remove_all(folder_);
    simulate(options, folder_ / "data", quiet);
    const Scene scene(options.seed, scene_half_size_m(options));
    for (const SimulatedPhoto& photo : simulate_flight(options, scene).query_photos) {
      truth_[photo.name] = photo.cam_from_enu;
    }
    report_ = build_map(build_options("map"), quiet);
    map_.emplace(Map::open(folder_ / "map"));
  }

  std::filesystem::path folder_;
  std::map<std::string, Rigid3> truth_;
  MapBuildReport report_;
  std::optional<Map> map_;
};

}  // namespace skyfix
