#include "skyfix/localize/map_extend.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "skyfix/localize/network_matcher.h"
#include "skyfix/localize/patch_network_testing.h"
#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/retrieval/dinov3_descriptor.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// A copy of the small world's map that may be changed.
class MapExtend : public ::testing::Test {
 protected:
  MapExtend()
      : folder_(SmallWorld::instance().folder() /
                ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::copy(SmallWorld::instance().map().folder(), folder_ / "map", fs::copy_options::recursive);
  }
  fs::path map() const { return folder_ / "map"; }
  MapExtendReport extend(const MapAdditions& additions) const {
    NoProgress quiet;
    return extend_map(map(), additions, quiet);
  }
  static MapAdditions patches() {
    MapAdditions additions;
    additions.networks = {std::make_shared<PatchNetwork>()};
    return additions;
  }
  Reason refusal(const MapAdditions& additions, const std::string& text) const {
    const std::string before = Map::open(map()).content_hash();
    Reason reason = Reason::internal;
    try {
      extend(additions);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
      reason = error.reason();
    }
    EXPECT_EQ(Map::open(map(), /*verify_hashes=*/true).content_hash(), before);
    return reason;
  }

  fs::path folder_;
};

TEST_F(MapExtend, DescribesEveryObservationWhereItIs) {
  const MapExtendReport report = extend(patches());
  const Map extended = Map::open(map(), /*verify_hashes=*/true);
  EXPECT_THAT(extended.feature_kinds(), UnorderedElementsAre("sift", "patch"));
  EXPECT_THAT(extended.place_kinds(), ElementsAre("vlad-sift"));  // as before
  const MapFeatures features = extended.features("patch");
  ASSERT_EQ(features.point.size(), extended.observation_point().size());
  ASSERT_EQ(report.features.size(), 1u);
  EXPECT_EQ(report.features[0].rows, features.point.size());
  EXPECT_EQ(report.missing_photos, 0u);
  const auto& note = extended.note(network_note_key("patch"));
  EXPECT_EQ(note.at("weights_sha256"), "patches");
  // The last photo's rows, made anew.
  const std::size_t image = extended.image_count() - 1;
  const std::uint64_t first = features.offset[image], last = features.offset[image + 1];
  const auto xy = features.pixel.subspan(2 * first, 2 * (last - first));
  const Image photo = decode_image(SmallWorld::instance().map_photos() / extended.image_name(image),
                                   {.grey = false});
  const auto rows = describe_observations(PatchNetwork(), photo, xy, kNetworkLongSidePx);
  ASSERT_EQ(rows.size(), (last - first) * PatchNetwork().dimension());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i], features.descriptor[first * features.dimension + i]);
  }
  for (std::uint64_t row = first; row < last; ++row) {
    ASSERT_EQ(features.point[row], extended.observation_point()[row]);
  }
}

TEST_F(MapExtend, MakesPlacesWhereTheMapHasNone) {
  MapBuildOptions options = SmallWorld::instance().build_options("bare");
  options.sift = false;
  options.out = map();
  options.overwrite = true;
  NoProgress quiet;
  build_map(options, quiet);
  EXPECT_TRUE(Map::open(map()).feature_kinds().empty());
  MapAdditions additions = patches();
  additions.vlad.clusters = 8;
  const MapExtendReport report = extend(additions);
  EXPECT_THAT(report.places, ElementsAre("vlad-patch"));
  const Map extended = Map::open(map(), true);
  const MapPlaces places = extended.places("vlad-patch");
  EXPECT_EQ(places.clusters, 8);
  EXPECT_EQ(places.local_dimension, PatchNetwork().dimension());
}

TEST_F(MapExtend, AddsPlacesByDinoV3) {
  DinoV3Options options;
  options.config = dinov3_config("vits16");
  MapAdditions additions;
  additions.dinov3 = std::make_shared<DinoV3>(make_synthetic_source(), NetworkPlacement{}, options);
  additions.place_long_side_px = 96;
  const MapExtendReport report = extend(additions);
  ASSERT_EQ(report.places.size(), 1u);
  const Map extended = Map::open(map(), true);
  const std::string kind = report.places[0];
  EXPECT_THAT(kind, HasSubstr("dinov3"));
  EXPECT_EQ(extended.places(kind).local_dimension, 384);
  EXPECT_NO_THROW(parse_dinov3_settings(extended.note("places_" + kind).dump()));
  EXPECT_THAT(extended.feature_kinds(), ElementsAre("sift"));
}

TEST_F(MapExtend, MissingPhotosAreCountedAndAllMissingIsRefused) {
  MapAdditions additions = patches();
  additions.images = folder_ / "some";
  EXPECT_EQ(refusal(additions, "not where they were"), Reason::unreadable_file);
  fs::create_directories(additions.images);
  EXPECT_EQ(refusal(additions, "none of the map's photos"), Reason::unreadable_file);
  const std::string name(SmallWorld::instance().map().image_name(3));
  fs::copy_file(SmallWorld::instance().map_photos() / name, additions.images / name);
  EXPECT_EQ(extend(additions).missing_photos, 8u);
  const Map extended = Map::open(map(), true);
  const MapFeatures features = extended.features("patch");
  EXPECT_EQ(features.offset[3], 0u);
  EXPECT_GT(features.offset[4], 100u);
  EXPECT_EQ(features.offset[9], features.offset[4]);
}

TEST_F(MapExtend, AKindThatIsThereIsNotMadeAnewOfFewerPhotos) {
  ASSERT_EQ(extend(patches()).missing_photos, 0u);
  const std::string whole = Map::open(map()).content_hash();
  MapAdditions additions = patches();
  additions.images = folder_ / "one";
  fs::create_directories(additions.images);
  const std::string name(SmallWorld::instance().map().image_name(3));
  fs::copy_file(SmallWorld::instance().map_photos() / name, additions.images / name);
  EXPECT_EQ(refusal(additions, "keeps the descriptors"), Reason::unreadable_file);
  EXPECT_EQ(Map::open(map(), true).content_hash(), whole);
}

TEST_F(MapExtend, PhotosOfAnotherSizeAreNotDescribed) {
  MapAdditions additions = patches();
  additions.images = folder_ / "small";
  fs::create_directories(additions.images);
  const Map& whole = SmallWorld::instance().map();
  for (std::size_t i = 0; i < whole.image_count(); ++i) {
    const Image photo = decode_image(SmallWorld::instance().map_photos() / whole.image_name(i));
    write_jpeg(additions.images / whole.image_name(i), resize(photo, 240, 160), 90);
  }
  EXPECT_EQ(refusal(additions, "no photo has the size"), Reason::camera_mismatch);
}

TEST_F(MapExtend, FindsThePhotosWhereTheMapWasBuilt) {
  const Map& whole = SmallWorld::instance().map();
  EXPECT_TRUE(fs::equivalent(map_photo_folder(whole, {}), SmallWorld::instance().map_photos()));
  EXPECT_EQ(map_photo_folder(whole, folder_), folder_);
  EXPECT_THROW(map_photo_folder(whole, folder_ / "gone"), Error);
}

}  // namespace
}  // namespace skyfix
