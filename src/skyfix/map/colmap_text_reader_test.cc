// Text models as other programs, editors and locales write them.
#include <clocale>
#include <filesystem>

#include "skyfix/map/map_testing.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TextReader : public ::testing::Test {
 protected:
  void write(const std::string& cameras, const std::string& images, const std::string& points) {
    write_file_atomic(scratch_ / "cameras.txt", cameras);
    write_file_atomic(scratch_ / "images.txt", images);
    write_file_atomic(scratch_ / "points3D.txt", points);
  }
  ColmapModel read() const { return read_colmap(scratch_.path()); }
  std::string error(Reason reason = Reason::bad_model) const {
    return error_of(reason, [&] { read(); });
  }
  ScratchFolder scratch_;
};

constexpr const char* kCameras = "# list\n7 SIMPLE_RADIAL 640 480 500 320 240 0.01\n";
constexpr const char* kImages =
    "# list\n"
    "3 1 0 0 0 0.5 -1e-3 +2 7 site 3/DJI 0001.JPG\n"
    "10.5 20.25 8 11 12 -1\n"
    "4 0.70710678 0 0 0.70710678 0 0 0 7 b.jpg\n"
    "\n"
    "9 1 0 0 0 0 0 0 7 c.jpg";  // no line of observations at all
constexpr const char* kPoints = "8 1 2 3 255 0 7 0.5 3 0\n18446744073709551614 1 2 3 0 0 0 -1\n";

TEST_F(TextReader, ReadsWhatStandsThere) {
  write(kCameras, kImages, kPoints);
  const ColmapModel model = read();
  ASSERT_EQ(model.images.size(), 3u);
  const ColmapImage& image = model.images[0];
  EXPECT_EQ(image.name, "site 3/DJI 0001.JPG");
  EXPECT_EQ(image.cam_from_world.translation, Eigen::Vector3d(0.5, -0.001, 2));
  ASSERT_EQ(image.observations.size(), 2u);
  EXPECT_EQ(image.observations[0].pixel, Eigen::Vector2d(10.5, 20.25));
  EXPECT_EQ(image.observations[0].point, PointId(8));
  EXPECT_FALSE(image.observations[1].point.valid());
  EXPECT_NEAR(model.images[1].cam_from_world.rotation.norm(), 1, 1e-15);
  EXPECT_TRUE(model.images[2].observations.empty());
  ASSERT_EQ(model.points.size(), 2u);
  EXPECT_EQ(model.points[0].track.size(), 1u);
  EXPECT_EQ(model.points[1].id, PointId(18446744073709551614ull));
}

TEST_F(TextReader, ReadsWindowsLinesAndByteOrderMark) {
  const auto windows = [](const std::string& unix_text) {
    std::string text = "\xEF\xBB\xBF";
    for (const char c : unix_text) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
    return text;
  };
  write(kCameras, kImages, kPoints);
  const ColmapModel model = read();
  write(windows(kCameras), windows(kImages), windows(kPoints));
  expect_equal(read(), model);
}

TEST_F(TextReader, TheLocaleDoesNotMatter) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"}) {
    if (std::setlocale(LC_ALL, locale) != nullptr) break;
  }
  write(kCameras, kImages, kPoints);
  const ColmapModel model = read();
  write_colmap(model, scratch_ / "again", ColmapFormat::text);
  expect_equal(read_colmap(scratch_ / "again"), model);
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(model.cameras.begin()->second.params[3], 0.01);
}

TEST_F(TextReader, DecimalCommasAreAnErrorWithTheLine) {
  write("# list\n7 SIMPLE_RADIAL 640 480 500 320 240 0,01\n", kImages, kPoints);
  EXPECT_THAT(error(), AllOf(HasSubstr("cameras.txt: line 2"), HasSubstr("'0,01'"),
                             HasSubstr("decimal mark")));
  write(kCameras, kImages, "# list\n\n8 1 2,5 3 255 0 7 0.5 3 0\n");
  EXPECT_THAT(error(), HasSubstr("points3D.txt: line 3"));
}

TEST_F(TextReader, HalfLinesAreErrorsWithTheLine) {
  write(kCameras, "3 1 0 0 0 0 0 0 7 a.jpg\n10.5 20.25\n", kPoints);
  EXPECT_THAT(error(), AllOf(HasSubstr("images.txt: line 2"), HasSubstr("point id")));
  write(kCameras, "3 1 0 0 0 0 0 0 7\n\n", kPoints);
  EXPECT_THAT(error(), AllOf(HasSubstr("images.txt: line 1"), HasSubstr("image name")));
  write(kCameras, "3 1 0 0\n\n", kPoints);
  EXPECT_THAT(error(), HasSubstr("pose number"));
  write(kCameras, kImages, "8 1 2 3 255 0 7 0.5 3\n");
  EXPECT_THAT(error(), HasSubstr("observation index"));
}

TEST_F(TextReader, AMissingEmptyLineOfObservationsIsNoticed) {
  write(kCameras, "3 1 0 0 0 0 0 0 7 a.jpg\n4 1 0 0 0 0 0 0 7 b.jpg\n", kPoints);
  EXPECT_THAT(error(), AllOf(HasSubstr("line 2"), HasSubstr("b.jpg")));
}

TEST_F(TextReader, NumbersOutOfRangeAreErrors) {
  write(kCameras, kImages, "8 1 2 3 256 0 7 0.5\n");
  EXPECT_THAT(error(), HasSubstr("colour"));
  write(kCameras, kImages, "18446744073709551616 1 2 3 0 0 7 0.5\n");
  EXPECT_THAT(error(), HasSubstr("point id"));
  write("-7 SIMPLE_RADIAL 640 480 500 320 240 0.01\n", kImages, kPoints);
  EXPECT_THAT(error(), HasSubstr("camera id"));
  write("7 SIMPLE_RADIAL 640 480 500 320 240 0.01 3\n", kImages, kPoints);
  EXPECT_THAT(error(), HasSubstr("goes on"));
}

TEST_F(TextReader, RefusesCameraModelsByName) {
  write("7 EQUIRECTANGULAR 640 480 640 480\n", kImages, kPoints);
  EXPECT_THAT(error(Reason::unsupported_camera_model),
              AllOf(HasSubstr("EQUIRECTANGULAR"), HasSubstr("cameras.txt: line 1")));
}

TEST_F(TextReader, AHugeNumberOfSensorsFailsAtTheFirstMissing) {
  write(kCameras, kImages, kPoints);
  write_file_atomic(scratch_ / "frames.txt", "1 1 1 0 0 0 0 0 0 4000000000 CAMERA 7 3\n");
  write_file_atomic(scratch_ / "rigs.txt", "1 4000000000 CAMERA 7\n");
  EXPECT_THAT(error(), HasSubstr("rigs.txt: line 1"));
  write_file_atomic(scratch_ / "rigs.txt", "1 1 CAMERA 7\n");
  EXPECT_THAT(error(), HasSubstr("frames.txt: line 1"));
  write_file_atomic(scratch_ / "frames.txt", "1 1 1 0 0 0 0 0 0 1 LIDAR 7 3\n");
  EXPECT_THAT(error(), HasSubstr("LIDAR"));
}

}  // namespace
}  // namespace skyfix
