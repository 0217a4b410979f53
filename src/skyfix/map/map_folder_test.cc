// Map folders written and opened again.
#include "skyfix/map/map_folder.h"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "skyfix/base/hash.h"
#include "skyfix/geo/testing.h"
#include "skyfix/map/map_folder_testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MapFolder, GivesBackWhatWasWritten) {
  const ScratchFolder scratch;
  const ColmapModel model = plane_model(12, 20);
  write_full_map(model, scratch / "map");
  const Map map = Map::open(scratch / "map", true);
  ASSERT_EQ(map.image_count(), 12u);
  ASSERT_EQ(map.point_count(), 20u);
  for (std::size_t i = 0; i < 12; ++i) {
    const ColmapImage& image = model.images[i];  // DJI_10 comes after DJI_9
    EXPECT_EQ(map.image_name(i), image.name);
    EXPECT_EQ(map.image_id(i), image.id);
    EXPECT_EQ(map.image_camera(i), CameraId(7));
    EXPECT_EQ(map.cam_from_map(i).rotation.coeffs(), image.cam_from_world.rotation.coeffs());
    EXPECT_EQ(map.cam_from_map(i).translation, image.cam_from_world.translation);
    const std::uint64_t row = map.observation_offset()[i];
    EXPECT_EQ(map.observation_offset()[i + 1] - row, 20u);  // that without a point is left out
    EXPECT_EQ(map.observation_pixel()[2 * row], image.observations[0].pixel.x());
    EXPECT_EQ(map.observation_point()[row + 3], 3u);
  }
  for (std::size_t p = 0; p < 20; ++p) {
    EXPECT_EQ(map.point(p), model.points[p].xyz);
    EXPECT_EQ(map.point_ids()[p], model.points[p].id.value);
    EXPECT_EQ(map.point_track_length()[p], 12u);
    EXPECT_EQ(map.point_rgb()[3 * p], p);
    EXPECT_FLOAT_EQ(map.point_error_px()[p], 0.25f + p);
  }
  EXPECT_EQ(map.point_xyz().size(), 60u);
}

TEST(MapFolder, GivesBackCamerasAndDescriptors) {
  const ScratchFolder scratch;
  write_full_map(plane_model(3, 8), scratch / "map");
  const Map map = Map::open(scratch / "map", true);
  ASSERT_EQ(map.cameras().size(), 1u);
  EXPECT_EQ(map.camera(CameraId(7)).camera, plane_model(1, 1).cameras.at(CameraId(7)));
  EXPECT_EQ(map.camera(CameraId(7)).make, "DJI");
  EXPECT_EQ(map.camera(CameraId(7)).model, "FC300S");
  EXPECT_THAT(error_of(Reason::bad_map, [&] { map.camera(CameraId(8)); }), HasSubstr("camera 8"));

  EXPECT_THAT(map.feature_kinds(), ElementsAre("sift"));
  const MapFeatures features = map.features("sift");
  EXPECT_EQ(features.dimension, 4);
  EXPECT_THAT(features.offset, ElementsAre(0, 0, 1, 3));  // image i has i features
  EXPECT_THAT(features.observation, ElementsAre(0, 0, 1));
  EXPECT_THAT(features.point, ElementsAre(0, 0, 1));
  EXPECT_EQ(features.pixel.size(), 6u);
  EXPECT_EQ(features.descriptor.size(), 12u);
  EXPECT_EQ(features.descriptor[4], 20);

  EXPECT_THAT(map.place_kinds(), ElementsAre("vlad-sift"));
  const MapPlaces places = map.places("vlad-sift");
  EXPECT_EQ(places.clusters, 2);
  EXPECT_EQ(places.local_dimension, 3);
  EXPECT_THAT(places.vocabulary, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(places.descriptor.size(), 18u);
  EXPECT_EQ(places.vocabulary_hash,
            sha256_hex({reinterpret_cast<const char*>(places.vocabulary.data()), 24}));
  EXPECT_THAT(error_of(Reason::missing_in_map, [&] { map.features("aliked"); }),
              AllOf(HasSubstr("aliked"), HasSubstr("sift")));
  EXPECT_THAT(error_of(Reason::missing_in_map, [&] { map.places("dinov3"); }),
              HasSubstr("vlad-sift"));
}

TEST(MapFolder, SaysWhatItIs) {
  const ScratchFolder scratch;
  write_full_map(plane_model(3, 8), scratch / "map");
  const Map map = Map::open(scratch / "map");
  EXPECT_EQ(map.manifest()["format"], "skyfix-map");
  EXPECT_EQ(map.manifest()["version"], kMapVersion);
  EXPECT_EQ(map.manifest()["units"], "metres");
  EXPECT_EQ(map.manifest()["counts"]["observations"], 24);
  EXPECT_EQ(map.manifest()["notes"]["source"], "sparse/0");
  EXPECT_EQ(map.manifest()["content_hash"], map.content_hash());
  MapWriter(plane_model(3, 8), {}).write(scratch / "other", false);
  const Map other = Map::open(scratch / "other");
  EXPECT_EQ(other.manifest()["units"], "arbitrary");
  EXPECT_FALSE(other.georegistration().known());
}

TEST(MapFolder, GivesBackTheGeoregistration) {
  const ScratchFolder scratch;
  Georegistration fit;
  fit.kind = Georegistration::Kind::gps_fit;
  fit.enu_from_map.scale = 1.0 / 3;
  fit.enu_from_map.rotation = Eigen::Quaterniond(0.1, 0.2, 0.3, 0.4).normalized();
  fit.enu_from_map.translation = {1e-3, 2e5 / 7, -3};
  fit.origin = {46.8425, -91.9940, 0};
  fit.datum = AltitudeDatum::as_recorded;
  fit.photos_used = 11;
  fit.photos_rejected = 2;
  fit.rms_horizontal_m = 0.56;
  fit.rms_vertical_m = 0.13;
  fit.max_residual_m = 0.91;
  MapWriter(plane_model(3, 8), fit).write(scratch / "map", false);
  const Map map = Map::open(scratch / "map");
  const Georegistration& back = map.georegistration();
  EXPECT_EQ(back.kind, fit.kind);
  EXPECT_EQ(back.enu_from_map.scale, fit.enu_from_map.scale);
  EXPECT_EQ(back.enu_from_map.rotation.coeffs(), fit.enu_from_map.rotation.coeffs());
  EXPECT_EQ(back.enu_from_map.translation, fit.enu_from_map.translation);
  EXPECT_EQ(back.origin.latitude_deg, fit.origin.latitude_deg);
  EXPECT_EQ(back.origin.longitude_deg, fit.origin.longitude_deg);
  EXPECT_EQ(back.datum, fit.datum);
  EXPECT_EQ(back.photos_used, 11);
  EXPECT_EQ(back.photos_rejected, 2);
  EXPECT_EQ(back.max_residual_m, 0.91);
}

TEST(MapFolder, IsTheSameBytesEachTime) {
  const ScratchFolder scratch;
  write_full_map(plane_model(3, 8), scratch / "a");
  write_full_map(plane_model(3, 8), scratch / "b");
  EXPECT_EQ(read_file(scratch / "a/map.json"), read_file(scratch / "b/map.json"));
  ColmapModel other = plane_model(3, 8);
  other.cameras.at(CameraId(7)).params[0] += 1e-9;
  write_full_map(other, scratch / "c");
  EXPECT_NE(Map::open(scratch / "a").content_hash(), Map::open(scratch / "c").content_hash());
}

TEST(MapFolder, MovesAndKeepsItsSpans) {
  const ScratchFolder scratch;
  write_full_map(plane_model(3, 8), scratch / "map");
  Map first = Map::open(scratch / "map");
  const auto xyz = first.point_xyz();
  Map second = std::move(first);
  EXPECT_EQ(second.point_xyz().data(), xyz.data());
  EXPECT_EQ(xyz[2], plane_model(3, 8).points[0].xyz.z());
}

TEST(MapFolder, HoldsRealMaps) {
  const fs::path source = shared_data("brighton") / "sparse" / "0";
  SKYFIX_NEED_SHARED(source);
  const ColmapModel model = read_colmap(source);
  const ScratchFolder scratch;
  MapWriter(model, georegistration_at_origin({46.8425, -91.994, 150}, AltitudeDatum::as_recorded))
      .write(scratch / "map", false);
  const Map map = Map::open(scratch / "map", true);
  EXPECT_EQ(map.image_count(), 13u);
  EXPECT_EQ(map.point_count(), 3565u);
  EXPECT_EQ(map.observation_point().size(), 12939u);
  EXPECT_EQ(map.image_name(0), "DJI_0018.JPG");
}

// ---- what is kept

TEST(MapWriter, SortsByNameAndPointId) {
  ColmapModel model = plane_model(3, 4);
  model.images[0].name = "photo 10.jpg";
  model.images[1].name = "photo 9.jpg";
  model.images[2].name = "photo 1.jpg";
  std::swap(model.points[0], model.points[3]);
  const ScratchFolder scratch;
  MapWriter writer(model, {});
  EXPECT_THAT(writer.model_image_of(), ElementsAre(2, 1, 0));
  writer.write(scratch / "map", false);
  const Map map = Map::open(scratch / "map", true);
  EXPECT_EQ(map.image_name(0), "photo 1.jpg");
  EXPECT_THAT(map.point_ids(), ElementsAre(5, 10, 15, 20));
  for (std::size_t p = 0; p < 4; ++p) EXPECT_EQ(writer.observations(0)[p].point, p);
}

TEST(MapWriter, DropsWhatCannotBeUsed) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  ColmapModel model = plane_model(5, 6);
  model.points[0].track.clear();
  model.points[1].xyz.x() = kNan;
  model.images[1].observations[4].point = PointId(4711);
  model.images[1].observations[3].pixel.y() = kNan;
  model.images[2].observations.resize(2);  // sees the two dropped points only
  model.images[3].cam_from_world.translation.x() = kNan;
  model.points.push_back(model.points[5]);
  model.points.back().id = PointId(1000);  // no image observes it
  model.points.back().error_px = kNan;
  model.points[2].error_px = kNan;
  const MapWriter writer(model, {});
  EXPECT_THAT(writer.model_image_of(), ElementsAre(0, 1, 4));
  EXPECT_EQ(writer.observations(0).size(), 4u);
  EXPECT_EQ(writer.observations(1).size(), 2u);
  const ScratchFolder scratch;
  MapWriter(writer).write(scratch / "map", false);
  const Map map = Map::open(scratch / "map", true);
  EXPECT_THAT(map.point_ids(), ElementsAre(15, 20, 25, 30));
  EXPECT_THAT(map.point_track_length(), ElementsAre(3, 2, 2, 3));
  EXPECT_EQ(map.point_error_px()[0], -1);
}

TEST(MapWriter, KeepsOnlyUsedCameras) {
  ColmapModel model = plane_model(2, 4);
  model.cameras[CameraId(9)] = model.cameras.at(CameraId(7));
  const ScratchFolder scratch;
  MapWriter(model, {}).write(scratch / "map", false);
  EXPECT_EQ(Map::open(scratch / "map").cameras().size(), 1u);
  model.images[0].camera = CameraId(4711);
  error_of(Reason::bad_model, [&] { MapWriter(model, {}); });
}

TEST(MapWriter, RefusesAnEmptyModel) {
  error_of(Reason::empty_model, [] { MapWriter(ColmapModel(), {}); });
  ColmapModel model = plane_model(2, 4);
  model.points.clear();
  error_of(Reason::empty_model, [&] { MapWriter(model, {}); });
}

TEST(MapWriter, TextThatIsNotUtf8IsReplaced) {
  const ColmapModel model = plane_model(2, 4);
  MapWriter writer(model, {});
  writer.set_camera_identity(CameraId(7), "D\xffI", "");
  const ScratchFolder scratch;
  writer.write(scratch / "map", false);
  EXPECT_EQ(Map::open(scratch / "map", true).camera(CameraId(7)).make, "D\xEF\xBF\xBDI");
}

}  // namespace
}  // namespace skyfix
