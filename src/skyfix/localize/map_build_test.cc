#include "skyfix/localize/map_build.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/localize/world_testing.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;

Reason failure(const MapBuildOptions& options) {
  NoProgress quiet;
  try {
    build_map(options, quiet);
  } catch (const Error& error) {
    EXPECT_FALSE(fs::exists(options.out)) << "a failed build leaves nothing behind";
    return error.reason();
  }
  ADD_FAILURE() << "no error";
  return Reason::internal;
}

TEST(MapBuild, TiesMostPointsAndKnowsTheCamera) {
  const SmallWorld& world = SmallWorld::instance();
  const MapBuildReport& report = world.report();
  EXPECT_EQ(report.images, 9u);
  EXPECT_EQ(report.missing_photos, 0u);
  EXPECT_GT(report.points_with_descriptors, report.points / 2);
  EXPECT_GT(report.tied_observations, report.observations / 3);
  EXPECT_EQ(world.map().cameras().front().make, "SKYFIX");
  EXPECT_THAT(world.map().feature_kinds(), ::testing::ElementsAre("sift"));
  EXPECT_THAT(world.map().place_kinds(), ::testing::ElementsAre("vlad-sift"));
}

TEST(MapBuild, SameInputSameContent) {
  const SmallWorld& world = SmallWorld::instance();
  NoProgress quiet;
  const MapBuildOptions options = world.build_options("again");
  build_map(options, quiet);
  EXPECT_EQ(Map::open(options.out).content_hash(), world.map().content_hash());
}

TEST(MapBuild, AMissingPhotoIsAFindingNotAnEnd) {
  const SmallWorld& world = SmallWorld::instance();
  MapBuildOptions options = world.build_options("partial");
  options.images = world.folder() / "fewer_photos";
  fs::create_directories(options.images);
  int copied = 0;
  for (const auto& entry : fs::directory_iterator(world.map_photos())) {
    if (++copied > 6) break;
    fs::copy_file(entry.path(), options.images / entry.path().filename(),
                  fs::copy_options::overwrite_existing);
  }
  NoProgress quiet;
  const MapBuildReport report = build_map(options, quiet);
  EXPECT_EQ(report.missing_photos, 3u);
  EXPECT_THAT(report.findings, ::testing::Contains(::testing::Field(
                                   &Finding::code, ::testing::HasSubstr("photo_missing"))));
}

TEST(MapBuild, RefusesWhatCannotWork) {
  const SmallWorld& world = SmallWorld::instance();
  MapBuildOptions options = world.build_options("refused");
  options.images = world.folder() / "no_such_photos";
  EXPECT_EQ(failure(options), Reason::unreadable_file);
  options = world.build_options("refused");
  options.colmap = world.folder() / "no_such_model";
  EXPECT_NE(failure(options), Reason::internal);
  options = world.build_options("refused");
  options.tie.radius_px = 0;
  EXPECT_EQ(failure(options), Reason::bad_option);
  options = world.build_options("refused");
  options.enu_origin = Wgs84{200, 0, 0};
  EXPECT_EQ(failure(options), Reason::bad_option);
}

TEST(MapBuild, PhotosExchangedByMistakeAreRefused) {
  const SmallWorld& world = SmallWorld::instance();
  MapBuildOptions options = world.build_options("exchanged");
  options.images = world.folder() / "exchanged_photos";
  fs::create_directories(options.images);
  std::vector<fs::path> photos;
  for (const auto& entry : fs::directory_iterator(world.map_photos()))
    photos.push_back(entry.path());
  std::sort(photos.begin(), photos.end());
  for (std::size_t i = 0; i < photos.size(); ++i) {
    fs::copy_file(photos[i], options.images / photos[(i + 4) % photos.size()].filename(),
                  fs::copy_options::overwrite_existing);
  }
  NoProgress quiet;
  try {
    const MapBuildReport report = build_map(options, quiet);
    EXPECT_THAT(report.findings,
                ::testing::Contains(::testing::Field(&Finding::code, "few_tied_observations")));
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::camera_mismatch);
  }
}

TEST(MapBuild, AnOriginFarFromTheGpsIsDoubted) {
  MapBuildOptions options = SmallWorld::instance().build_options("elsewhere");
  options.enu_origin->longitude_deg *= -1;
  NoProgress quiet;
  EXPECT_THAT(build_map(options, quiet).findings,
              ::testing::Contains(::testing::Field(&Finding::code, "origin_disagrees_with_gps")));
}

TEST(MapBuild, AMapInTheWayIsKeptUnlessToldOtherwise) {
  const SmallWorld& world = SmallWorld::instance();
  NoProgress quiet;
  MapBuildOptions options = world.build_options("twice");
  build_map(options, quiet);
  EXPECT_THROW(build_map(options, quiet), Error);
  options.overwrite = true;
  EXPECT_NO_THROW(build_map(options, quiet));
}

}  // namespace
}  // namespace skyfix
