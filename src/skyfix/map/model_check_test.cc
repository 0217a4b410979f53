#include "skyfix/map/model_check.h"

#include <limits>

#include "skyfix/map/map_testing.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

MATCHER_P3(Is, severity, code, message,
           std::string("a finding ") + code + " with " + ::testing::PrintToString(message)) {
  *result_listener << arg.code << ": " << arg.message;
  return arg.severity == severity && arg.code == code &&
         arg.message.find(message) != std::string::npos;
}

class CheckModel : public ::testing::Test {
 protected:
  ColmapModel model_ = plane_model(6, 20);
  std::vector<Finding> findings() const { return check_model(model_); }
};

TEST_F(CheckModel, ASoundModelGivesNothing) { EXPECT_THAT(findings(), IsEmpty()); }

TEST_F(CheckModel, RealModelsHaveNoErrors) {
  for (const char* name : {"brighton", "university"}) {
    const auto folder = shared_data(name) / "sparse" / "0";
    SKYFIX_NEED_SHARED(folder);
    for (const Finding& finding : check_model(read_colmap(folder))) {
      EXPECT_NE(finding.severity, Severity::error) << finding.message;
    }
  }
}

TEST_F(CheckModel, Empty) {
  EXPECT_THAT(check_model(ColmapModel()),
              ElementsAre(Is(Severity::error, "empty_model", "0 images")));
  model_.points.clear();
  for (ColmapImage& image : model_.images) image.observations.clear();
  EXPECT_THAT(findings(),
              ElementsAre(Is(Severity::error, "empty_model", "0 points"),
                          Is(Severity::warning, "image_without_observations", "6 images")));
}

TEST_F(CheckModel, UnknownPoints) {
  model_.points.pop_back();
  EXPECT_THAT(findings(), ElementsAre(Is(Severity::warning, "unknown_point", "6 images")));
}

TEST_F(CheckModel, TracksThatDisagree) {
  model_.points[3].track[2].observation_index = 5;
  model_.points[4].track[0].image = ImageId(4711);
  model_.points[5].track[0].observation_index = 4000000000u;
  model_.points[6].track.clear();
  EXPECT_THAT(findings(),
              ElementsAre(Is(Severity::warning, "track_mismatch", "4 points have a track")));
}

TEST_F(CheckModel, EqualNamesAndNamesThatLeadOut) {
  model_.images[3].name = model_.images[2].name;
  model_.images[5].name = model_.images[2].name;
  model_.images[4].name = "a/../../b.jpg";
  model_.images[0].name = "/etc/passwd";
  EXPECT_THAT(findings(), ElementsAre(Is(Severity::error, "duplicate_image_name", "1 names stand"),
                                      Is(Severity::error, "image_name_outside", "2 image names")));
}

TEST_F(CheckModel, RepeatedPointIds) {
  model_.points.push_back(model_.points[0]);
  EXPECT_THAT(findings(), ElementsAre(Is(Severity::error, "duplicate_point_id", "(point 5)")));
}

TEST_F(CheckModel, QuaternionsOffByMoreThanAThousandth) {
  model_.images[0].quaternion_norm_read = 1.0009;
  EXPECT_THAT(findings(), IsEmpty());
  model_.images[0].quaternion_norm_read = 0.9989;
  model_.images[1].cam_from_world.rotation.coeffs() *= 1.002;
  EXPECT_THAT(findings(), ElementsAre(Is(Severity::warning, "quaternion_norm", "2 images")));
}

TEST_F(CheckModel, CoordinatesOfTheEarth) {
  const Eigen::Vector3d shift(4e5, 5e6, 0);
  for (ColmapPoint& point : model_.points) point.xyz += shift;
  for (ColmapImage& image : model_.images) {
    image.cam_from_world.translation -= image.cam_from_world.rotation * shift;
  }
  EXPECT_THAT(findings(), ElementsAre(Is(Severity::warning, "large_coordinates", "local origin")));
}

TEST_F(CheckModel, ValuesThatAreNotFinite) {
  model_.points[0].xyz.y() = std::numeric_limits<double>::quiet_NaN();
  model_.images[1].cam_from_world.translation.x() = std::numeric_limits<double>::infinity();
  model_.images[2].observations[0].pixel.x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(findings(), ElementsAre(Is(Severity::error, "non_finite_image", "2 images"),
                                      Is(Severity::error, "non_finite_point", "(point 5)")));
}

TEST_F(CheckModel, PointsBehindAndFarAway) {
  model_.points[0].xyz.z() = 11;  // cameras are at 10, looking down
  model_.points[1].xyz.z() = -10000;
  EXPECT_THAT(findings(),
              ElementsAre(Is(Severity::warning, "point_behind_camera", "6 observations"),
                          Is(Severity::note, "point_far", "6 observations")));
}

TEST_F(CheckModel, ShowsTheFirstFewNamesOnly) {
  for (ColmapImage& image : model_.images) image.quaternion_norm_read = 2;
  EXPECT_THAT(findings(), ElementsAre(Field(&Finding::message, AllOf(HasSubstr("DJI_3.JPG, ...)"),
                                                                     Not(HasSubstr("DJI_4"))))));
}

TEST_F(CheckModel, Photos) {
  std::vector<std::optional<PhotoSize>> sizes(6, PhotoSize{640, 480});
  EXPECT_THAT(check_photos(model_, sizes), IsEmpty());
  sizes[1].reset();
  sizes[4] = PhotoSize{480, 640};
  EXPECT_THAT(check_photos(model_, sizes),
              ElementsAre(Is(Severity::warning, "photo_missing", "DJI_2.JPG"),
                          Is(Severity::error, "image_size_mismatch",
                             "DJI_5.JPG is 480x640, its camera 640x480")));
  sizes.assign(6, std::nullopt);
  EXPECT_THAT(check_photos(model_, sizes),
              ElementsAre(Is(Severity::error, "photo_missing", "6 photos")));
}

}  // namespace
}  // namespace skyfix
