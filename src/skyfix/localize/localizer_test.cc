#include "skyfix/localize/localizer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "skyfix/base/file.h"
#include "skyfix/geo/testing.h"
#include "skyfix/localize/feature_matcher.h"
#include "skyfix/localize/world_testing.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

const DescriptorCache& no_cache() {
  static const DescriptorCache cache({}, "", "");
  return cache;
}

Fix fix_of(const InputPhoto& photo, const LocalizeOptions& options = {}) {
  return Localizer(SmallWorld::instance().map(), options, {}, no_cache(), cpu())
      .localize(photo, {});
}

// A photo written to the world's folder, to be spoiled.
InputPhoto written(const std::string& name, const Image& image) {
  const fs::path file = SmallWorld::instance().folder() / "spoiled" / name;
  make_folder(file.parent_path());
  write_png(file, image);
  return {name, file, 1};
}

TEST(Localizer, FindsEveryQueryWithinCentimetres) {
  const SmallWorld& world = SmallWorld::instance();
  for (const InputPhoto& photo : world.queries().photos) {
    const Fix fix = fix_of(photo);
    ASSERT_EQ(fix.status, FixStatus::ok) << photo.name << ": " << fix.reason_text;
    EXPECT_THAT(fix.pose->cam_from_world, PoseNear(world.truth(photo.name), 0.3, 0.3));
    EXPECT_THAT(*fix.pose->position_enu, VectorNear(world.truth(photo.name).centre(), 0.3));
    EXPECT_FALSE(fix.reason.has_value());
    EXPECT_EQ(fix.camera_source, CameraSource::map_camera);
    EXPECT_GT(fix.inliers, 30);
    EXPECT_LT(*fix.log10_false_alarms, -6);
    EXPECT_TRUE(fix.pose->covariance_enu.has_value());
    EXPECT_FALSE(fix.retrieval.candidates.empty());
    EXPECT_EQ(fix.inlier_points.size(), static_cast<std::size_t>(fix.inliers));
  }
}

TEST(Localizer, PositionGoesThroughGeoregistrationWhilePoseStays) {
  const SmallWorld& world = SmallWorld::instance();
  MapBuildOptions options = world.build_options("gps_map");
  options.enu_origin.reset();
  NoProgress quiet;
  const MapBuildReport report = build_map(options, quiet);
  ASSERT_EQ(report.georegistration.kind, Georegistration::Kind::gps_fit);
  const Map map = Map::open(options.out);
  const InputPhoto photo = world.queries().photos.front();
  const Fix fix = Localizer(map, {}, {}, no_cache(), cpu()).localize(photo, {});
  ASSERT_EQ(fix.status, FixStatus::ok);
  EXPECT_THAT(fix.pose->cam_from_world, PoseNear(world.truth(photo.name), 0.3, 0.3));
  // Nine noisy GPS positions: metres, not centimetres.
  const Wgs84 expected =
      EnuFrame(SimulateOptions().origin).wgs84_from_enu(world.truth(photo.name).centre());
  EXPECT_NEAR(fix.pose->position_wgs84->latitude_deg, expected.latitude_deg, 5e-5);
  EXPECT_NEAR(fix.pose->position_wgs84->longitude_deg, expected.longitude_deg, 5e-5);
}

TEST(Localizer, EveryFaultBecomesAReason) {
  const SmallWorld& world = SmallWorld::instance();
  const auto reason_of = [](const InputPhoto& photo) {
    const Fix fix = fix_of(photo);
    EXPECT_NE(fix.status, FixStatus::ok);
    EXPECT_FALSE(fix.pose.has_value());
    EXPECT_FALSE(fix.reason_text.empty());
    return fix.reason.value_or(Reason::internal);
  };
  EXPECT_EQ(reason_of({"no.jpg", world.folder() / "no.jpg", 1}), Reason::unreadable_file);
  EXPECT_EQ(reason_of(written("tiny.png", Image{40, 40, 1, std::vector<std::uint8_t>(1600)})),
            Reason::image_too_small);
  EXPECT_EQ(
      reason_of(written("flat.png", Image{480, 320, 1, std::vector<std::uint8_t>(480 * 320)})),
      Reason::no_features);
  EXPECT_EQ(reason_of(written("odd.png", Image{400, 400, 1, std::vector<std::uint8_t>(160000)})),
            Reason::camera_mismatch);
}

TEST(Localizer, NoiseIsNotAPlace) {
  Image noise{480, 320, 1, std::vector<std::uint8_t>(480 * 320)};
  std::uint32_t state = 12345;
  for (std::uint8_t& value : noise.pixels) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<std::uint8_t>(state >> 24);
  }
  EXPECT_NE(fix_of(written("noise.png", blur(noise, 1.2))).status, FixStatus::ok);
}

TEST(Localizer, AMirroredPictureIsNoPlace) {
  for (const InputPhoto& photo : SmallWorld::instance().queries().photos) {
    Image image = decode_image(photo.path);
    for (int y = 0; y < image.height; ++y) std::reverse(image.row(y), image.row(y) + image.width);
    EXPECT_NE(fix_of(written("mirrored.png", image)).status, FixStatus::ok);
  }
}

TEST(Localizer, AGuessedCameraWidensTheCovarianceAlongItsAxis) {
  const InputPhoto photo = SmallWorld::instance().queries().photos.front();
  const InputPhoto foreign{"foreign.jpg", SmallWorld::instance().folder() / "foreign.jpg", 1};
  PhotoMetadata metadata;
  metadata.make = "Other";
  metadata.model = "Camera";
  metadata.focal_length_35mm = read_metadata(photo.path).focal_length_35mm;
  ASSERT_TRUE(metadata.focal_length_35mm.has_value());
  write_jpeg(foreign.path, decode_image(photo.path), 95, {make_exif_segment(metadata)});
  const Fix fix = fix_of(foreign);
  ASSERT_EQ(fix.status, FixStatus::ok) << fix.reason_text;
  EXPECT_EQ(fix.camera_source, CameraSource::exif);
  EXPECT_GT(std::sqrt((*fix.pose->covariance_enu)(2, 2)), 1);  // metres, at 80 m and 5 %
  EXPECT_FALSE(fix.warnings.empty());
}

TEST(Localizer, TurnedPictureGivesTheTurnedPose) {
  const SmallWorld& world = SmallWorld::instance();
  const InputPhoto photo = world.queries().photos.front();
  const Image upright = decode_image(photo.path);
  for (const int quarters : {1, 2, 3}) {
    const std::string name = "turned_" + std::to_string(quarters) + ".png";
    const Fix fix = fix_of(written(name, turn(upright, quarters)));
    ASSERT_EQ(fix.status, FixStatus::ok) << fix.reason_text;
    Rigid3 expected = world.truth(photo.name);
    const Eigen::Matrix3d by = quarter_turn_rotation(quarters);
    expected.rotation = Eigen::Quaterniond(by * expected.rotation.toRotationMatrix());
    expected.translation = by * expected.translation;
    EXPECT_THAT(fix.pose->cam_from_world, PoseNear(expected, 0.4, 0.4));
  }
}

TEST(Localizer, ExpectedPoseProposesTemporalCandidates) {
  const SmallWorld& world = SmallWorld::instance();
  const std::vector<InputPhoto> photos = world.queries().photos;
  TrackState track;
  track.add({photos[0].index, photos[0].name, world.truth(photos[0].name)});
  const Localizer localizer(world.map(), {}, {}, no_cache(), cpu());
  const Fix fix = localizer.localize(photos[1], track);
  EXPECT_GT(fix.retrieval.num_temporal_proposed, 0);
  EXPECT_GT(fix.retrieval.num_faiss_proposed, 0);
}

TEST(Localizer, OptionsAreCheckedByName) {
  LocalizeOptions options;
  options.vpr_top_k = 0;
  try {
    options.validate();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--vpr-top-k is 0"));
  }
  options = {};
  options.ba_window = 1;
  EXPECT_THROW(options.validate(), Error);
}

// SIFT that claims to need the right turn, finds nothing in any other, and whose rough matches
// speak for a wrong one.
class Misled : public MapMatcher {
 public:
  explicit Misled(const Map& map)
      : sift_(make_feature_matcher(map, make_local_features("sift"), cpu(), 0.75)) {}
  std::string_view kind() const override { return "misled"; }
  bool wants_colour() const override { return false; }
  bool needs_turn() const override { return true; }
  int max_candidates() const override { return 1; }
  std::unique_ptr<Query> read(const Image& picture) override { return sift_->read(picture); }
  int rough_matches(Query&, const TurnedCandidate& candidate) override {
    return candidate.turn == 1 ? 30 : 10;
  }
  MapMatches match(Query& query, std::span<const TurnedCandidate> candidates,
                   int max_pairs) override {
    if (candidates.front().turn != 0) return {};
    return sift_->match(query, candidates, max_pairs);
  }
  GuidedMatches search(Query& query, std::span<const TurnedCandidate> candidates,
                       const Camera& camera, const Rigid3& cam_from_map,
                       double radius_px) override {
    return sift_->search(query, candidates, camera, cam_from_map, radius_px);
  }

 private:
  std::unique_ptr<MapMatcher> sift_;
};

TEST(Localizer, TheOtherTurnsAreTriedWhereTheLikeliestFindsNothing) {
  const Map& map = SmallWorld::instance().map();
  const InputPhoto photo = SmallWorld::instance().queries().photos.front();
  LocalizeMethods methods;
  methods.matcher = std::make_unique<Misled>(map);
  const Localizer localizer(map, {}, {}, no_cache(), cpu(), std::move(methods));
  const Fix fix = localizer.localize(photo, {});
  EXPECT_EQ(fix.status, FixStatus::ok) << fix.reason_text;
  EXPECT_EQ(fix.turn, 0);
}

// A frame of a video brings its pixels and what its side file says.
TEST(Localizer, DecodedFramesAreTakenAsTheyAre) {
  const SmallWorld& world = SmallWorld::instance();
  const InputPhoto photo = world.queries().photos.front();
  SourceFrame frame;
  frame.name = "clip.mp4#000001";
  frame.index = 1;
  frame.pixels = decode_image(photo.path, {.grey = false});
  const DescriptorCache cache({}, "", "");
  const Localizer localizer(world.map(), {}, {}, cache, cpu());
  const Fix fix = localizer.localize(frame, {});
  ASSERT_EQ(fix.status, FixStatus::ok) << fix.reason_text;
  EXPECT_EQ(fix.name, "clip.mp4#000001");
  EXPECT_EQ(fix.image_width, frame.pixels.width);
  EXPECT_EQ(fix.camera_source, CameraSource::map_camera);
  EXPECT_THAT(fix.pose->cam_from_world, PoseNear(world.truth(photo.name), 0.3, 0.3));
  EXPECT_TRUE(fix.warnings.empty());
  // Far from what its side file says: the fix stands, with a warning.
  frame.metadata.latitude_deg = SimulateOptions().origin.latitude_deg + 0.1;
  frame.metadata.longitude_deg = SimulateOptions().origin.longitude_deg;
  frame.metadata.altitude_m = 300;
  const Fix warned = localizer.localize(frame, {});
  EXPECT_EQ(warned.status, FixStatus::ok);
  EXPECT_FALSE(warned.warnings.empty());
}

TEST(Localizer, AFrameThatCouldNotBeReadIsAFailureWithItsReason) {
  SourceFrame frame;
  frame.name = "clip.mp4#000002";
  frame.index = 2;
  frame.failure = Reason::corrupt_image;
  frame.failure_text = "the frame is damaged";
  const DescriptorCache cache({}, "", "");
  const Localizer localizer(SmallWorld::instance().map(), {}, {}, cache, cpu());
  const Fix fix = localizer.localize(frame, {});
  EXPECT_EQ(fix.status, FixStatus::failed);
  EXPECT_EQ(fix.reason, Reason::corrupt_image);
  EXPECT_EQ(fix.reason_text, "the frame is damaged");
  EXPECT_FALSE(fix.pose);
}

}  // namespace
}  // namespace skyfix
