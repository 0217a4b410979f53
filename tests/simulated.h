// A small simulated flight and its map, made once for the process through the command line.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <filesystem>
#include <string>

#include "process.h"

namespace skyfix::testing {

struct SimulatedWorld {
  std::filesystem::path folder;
  std::filesystem::path map;
  std::filesystem::path queries;
  std::filesystem::path reference;

  // 12 map photos and 8 queries at 600 px: a few seconds.
  static const SimulatedWorld& instance() {
    static const SimulatedWorld world;
    return world;
  }
  ~SimulatedWorld() { std::filesystem::remove_all(folder); }

 private:
  SimulatedWorld() {
    folder = std::filesystem::path(::testing::TempDir()) /
             ("skyfix_world_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    map = folder / "map";
    queries = folder / "data/images/query";
    reference = folder / "data/reference.json";
    const Outcome simulated = skyfix({"simulate", "--out", folder / "data", "--map-images", "12",
                                      "--query-images", "8", "--width", "600", "--points", "4000"});
    EXPECT_EQ(simulated.status, 0) << simulated.err;
    const Outcome built =
        skyfix({"map", "build", "--colmap", folder / "data/sparse/0", "--images",
                folder / "data/images/map", "--out", map, "--enu-origin", "46.8425,-91.9940,0"});
    EXPECT_EQ(built.status, 0) << built.err;
  }
};

}  // namespace skyfix::testing
