#include "skyfix/localize/query_camera.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/localize/testing.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;
using ::testing::DoubleNear;
using ::testing::HasSubstr;

Camera wide(double cx = 800, double cy = 450) {
  return {CameraModel::simple_radial, 1600, 900, {924, cx, cy, 0.004}};
}
Camera square() { return {CameraModel::simple_pinhole, 1000, 1000, {700, 500, 500}}; }

PhotoMetadata made_by(const char* make, const char* model) {
  PhotoMetadata metadata;
  metadata.make = make;
  metadata.model = model;
  return metadata;
}

QueryCamera resolve(const Map& map, int width, int height, const PhotoMetadata& metadata = {},
                    const GivenCameras& given = {}) {
  return resolve_query_camera("q.jpg", width, height, metadata, given, map);
}

Reason refusal(const Map& map, int width, int height, const PhotoMetadata& metadata = {}) {
  try {
    resolve(map, width, height, metadata);
  } catch (const Error& error) {
    return error.reason();
  }
  return Reason::internal;
}

TEST(QueryCamera, SameSizeSameMakeIsTheMapsCamera) {
  const TestMap map({{wide(), "DJI", "FC300S"}});
  const QueryCamera camera = resolve(map.map(), 1600, 900, made_by("DJI", "FC300S"));
  EXPECT_EQ(camera.source, CameraSource::map_camera);
  ASSERT_EQ(camera.hypotheses.size(), 1u);
  EXPECT_EQ(camera.hypotheses[0], wide());
}

TEST(QueryCamera, AbsentMakeMatchesTheOnlyCameraOfTheAspect) {
  const TestMap map({{wide(), "DJI", "FC300S"}, {square(), "Sony", "A7"}});
  EXPECT_EQ(resolve(map.map(), 1600, 900).source, CameraSource::map_camera);
  EXPECT_EQ(resolve(map.map(), 500, 500).source, CameraSource::map_camera_scaled);
}

TEST(QueryCamera, HalfSizeScalesTheFocalLength) {
  const TestMap map({{wide(), "DJI", "FC300S"}});
  const QueryCamera camera = resolve(map.map(), 800, 450, made_by("DJI", "FC300S"));
  EXPECT_EQ(camera.source, CameraSource::map_camera_scaled);
  EXPECT_THAT(camera.hypotheses[0].focal_x(), DoubleNear(462, 1e-9));
  EXPECT_FALSE(camera.warnings.empty());
}

TEST(QueryCamera, InvertedAspectTurnsThePrincipalPointToo) {
  const TestMap map({{wide(820, 440), "DJI", "FC300S"}});
  const QueryCamera camera = resolve(map.map(), 900, 1600, made_by("DJI", "FC300S"));
  EXPECT_EQ(camera.source, CameraSource::map_camera_turned);
  ASSERT_EQ(camera.hypotheses.size(), 2u);  // clockwise or the other way
  EXPECT_EQ(camera.hypotheses[0].principal_point(), Eigen::Vector2d(900 - 440, 820));
  EXPECT_EQ(camera.hypotheses[1].principal_point(), Eigen::Vector2d(440, 1600 - 820));
}

TEST(QueryCamera, OtherAspectOfTheSameCameraIsRefused) {
  const TestMap map({{wide(), "DJI", "FC300S"}});
  EXPECT_EQ(refusal(map.map(), 1600, 1200, made_by("DJI", "FC300S")), Reason::camera_mismatch);
  EXPECT_EQ(refusal(map.map(), 1600, 1200), Reason::camera_mismatch);
}

TEST(QueryCamera, AnotherMakeFallsBackToExifThenToAGuess) {
  const TestMap map({{wide(), "DJI", "FC300S"}});
  PhotoMetadata metadata = made_by("Canon", "EOS");
  metadata.focal_length_35mm = 24;
  const QueryCamera exif = resolve(map.map(), 3000, 2000, metadata);
  EXPECT_EQ(exif.source, CameraSource::exif);
  EXPECT_THAT(exif.hypotheses[0].focal_x(), DoubleNear(2000, 1e-9));
  metadata.focal_length_35mm.reset();
  const QueryCamera guess = resolve(map.map(), 3000, 2000, metadata);
  EXPECT_EQ(guess.source, CameraSource::guess);
  EXPECT_FALSE(guess.warnings.empty());
}

class GivenCamerasTest : public ::testing::Test {
 protected:
  fs::path write(const std::string& text) {
    const fs::path file = fs::path(::testing::TempDir()) / "given_cameras_test.txt";
    write_file_atomic(file, text);
    return file;
  }
};

TEST_F(GivenCamerasTest, GivenWinsOverTheMap) {
  const TestMap map({{wide(), "DJI", "FC300S"}});
  const GivenCameras given =
      GivenCameras::read(write("# cameras\n1 SIMPLE_PINHOLE 1600 900 1000 800 450\n"));
  const QueryCamera camera = resolve(map.map(), 1600, 900, made_by("DJI", "FC300S"), given);
  EXPECT_EQ(camera.source, CameraSource::given);
  EXPECT_EQ(camera.hypotheses[0].focal_x(), 1000);
}

TEST_F(GivenCamerasTest, HlocListGoesByName) {
  const TestMap map({{wide(), "DJI", "FC300S"}});
  const GivenCameras given = GivenCameras::read(write(
      "other.jpg PINHOLE 1600 900 900 900 800 450\nq.jpg PINHOLE 1600 900 1100 1100 800 450\n"));
  EXPECT_EQ(resolve(map.map(), 1600, 900, {}, given).hypotheses[0].focal_x(), 1100);
}

TEST_F(GivenCamerasTest, ErrorsNameTheLine) {
  for (const char* text :
       {"1 SIMPLE_PINHOLE 1600 900 1000 800\n", "1 SIMPLE_PINHOLE -1 900 1 2 3\n",
        "1 SIMPLE_PINHOLE 1600 900 1000 800 4,5\n", "1 EQUIRECTANGULAR 10 10 1 1\n",
        "1 SIMPLE_PINHOLE 1600 900 1000 80000 450\n",
        "a.jpg SIMPLE_PINHOLE 9 9 9 4 4\na.jpg SIMPLE_PINHOLE 9 9 8 4 4\n"}) {
    try {
      GivenCameras::read(write(std::string("# head\n") + text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_TRUE(error.reason() == Reason::bad_camera ||
                  error.reason() == Reason::unsupported_camera_model);
    }
  }
  EXPECT_THROW(GivenCameras::read(write("# nothing\n")), Error);
}

TEST_F(GivenCamerasTest, AByteOrderMarkIsNoName) {
  const GivenCameras given =
      GivenCameras::read(write("\xEF\xBB\xBF"
                               "1 SIMPLE_PINHOLE 1600 900 1000 800 450\n"));
  EXPECT_EQ(given.cameras().size(), 1u);
}

TEST_F(GivenCamerasTest, TwoOfOneSizeAreNotChosenByChance) {
  const TestMap map({{wide(), "DJI", "FC300S"}});
  const GivenCameras given = GivenCameras::read(
      write("1 SIMPLE_PINHOLE 1600 900 700 800 450\n2 SIMPLE_PINHOLE 1600 900 924 800 450\n"));
  EXPECT_THROW(resolve(map.map(), 1600, 900, {}, given), Error);
}

TEST(SameAspect, ToleratesRoundingOfResizedPhotos) {
  EXPECT_TRUE(same_aspect(4000, 2250, 1600, 900));
  EXPECT_TRUE(same_aspect(4000, 3000, 1023, 767));
  EXPECT_FALSE(same_aspect(4000, 3000, 1600, 900));
  EXPECT_FALSE(same_aspect(1600, 900, 900, 1600));
}

}  // namespace
}  // namespace skyfix
