// Damaged and hostile binary models.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "skyfix/map/map_testing.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BinaryReader : public ::testing::Test {
 protected:
  BinaryReader() { write_colmap(plane_model(3, 4), scratch_.path(), ColmapFormat::binary); }
  std::string content(const std::string& file) const { return read_file(scratch_ / file); }
  void replace(const std::string& file, const std::string& bytes) const {
    write_file_atomic(scratch_ / file, bytes);
  }
  template <class T>
  void patch(const std::string& file, std::size_t offset, T value) const {
    std::string bytes = content(file);
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    replace(file, bytes);
  }
  std::string error(Reason reason = Reason::bad_model) const {
    return error_of(reason, [&] { read_colmap(scratch_.path()); });
  }
  ScratchFolder scratch_;
};

TEST_F(BinaryReader, EveryCutIsAnErrorThatNamesTheFile) {
  for (const char* file : {"cameras.bin", "images.bin", "points3D.bin"}) {
    const std::string whole = content(file);
    for (std::size_t size = whole.size(); size-- > 0;) {
      std::filesystem::resize_file(scratch_ / file, size);
      EXPECT_THAT(error(), AllOf(HasSubstr(file), HasSubstr("byte "))) << "cut at " << size;
    }
    replace(file, whole);
  }
}

TEST_F(BinaryReader, NamesRecordAndByteOfTheCut) {
  const std::string whole = content("points3D.bin");
  replace("points3D.bin", whole.substr(0, whole.size() - 3));
  EXPECT_THAT(error(), AllOf(HasSubstr("record 4 of 4"),
                             HasSubstr("byte " + std::to_string(whole.size() - 24))));
}

TEST_F(BinaryReader, HugeCountsAskForNoMemory) {
  for (const std::uint64_t count :
       {std::uint64_t{5}, std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{1} << 61}) {
    for (const char* file : {"cameras.bin", "images.bin", "points3D.bin"}) {
      const std::string whole = content(file);
      patch(file, 0, count);
      EXPECT_THAT(error(), HasSubstr(file)) << count;
      replace(file, whole);
    }
    const std::string whole = content("points3D.bin");
    patch("points3D.bin", 8 + 43, count + 1000);  // the first point's track length
    EXPECT_THAT(error(), AllOf(HasSubstr("record 1 of 4"), HasSubstr("count")));
    replace("points3D.bin", whole);
  }
}

TEST_F(BinaryReader, RefusesCameraModelsByName) {
  patch<std::int32_t>("cameras.bin", 12, 10);
  EXPECT_THAT(error(Reason::unsupported_camera_model),
              AllOf(HasSubstr("THIN_PRISM_FISHEYE"), HasSubstr("cameras.bin")));
  patch<std::int32_t>("cameras.bin", 12, 4711);
  EXPECT_THAT(error(Reason::unsupported_camera_model), HasSubstr("4711"));
}

TEST_F(BinaryReader, RefusesUnusableCameras) {
  const std::string whole = content("cameras.bin");
  patch<std::uint64_t>("cameras.bin", 16, std::uint64_t{1} << 33);
  EXPECT_THAT(error(), HasSubstr("8589934592"));
  replace("cameras.bin", whole);
  patch<double>("cameras.bin", 32, -5);  // focal length
  EXPECT_THAT(error(), HasSubstr("camera 7"));
}

TEST_F(BinaryReader, RefusesImagesOfUnknownCamerasAndRepeatedIds) {
  const std::string whole = content("images.bin");
  patch<std::uint32_t>("images.bin", 8 + 4 + 56, 99);
  EXPECT_THAT(error(), AllOf(HasSubstr("camera 99"), HasSubstr("DJI_1.JPG")));
  replace("images.bin", whole);
  patch<std::uint32_t>("images.bin", 8, 6);
  EXPECT_THAT(error(), AllOf(HasSubstr("image 6"), HasSubstr("twice"), HasSubstr("record 2")));
}

TEST_F(BinaryReader, MakesQuaternionsUnitAndKeepsTheirLength) {
  patch<double>("images.bin", 8 + 4 + 8, 1.5);  // x of (0, 1, 0, 0)
  const ColmapModel model = read_colmap(scratch_.path());
  EXPECT_EQ(model.images[0].cam_from_world.rotation.norm(), 1);
  EXPECT_EQ(model.images[0].quaternion_norm_read, 1.5);
  patch<double>("images.bin", 8 + 4 + 8, 0);
  EXPECT_THAT(error(), HasSubstr("quaternion"));
  patch<double>("images.bin", 8 + 4 + 8, std::nan(""));
  EXPECT_THAT(error(), HasSubstr("quaternion"));
}

TEST_F(BinaryReader, SaysThatBytesAreLeft) {
  replace("points3D.bin", content("points3D.bin") + "12345");
  EXPECT_THAT(read_colmap(scratch_.path()).warnings, ElementsAre(HasSubstr("5 bytes")));
}

TEST_F(BinaryReader, EmptyModelsAreRead) {
  for (const char* file : {"cameras.bin", "images.bin", "points3D.bin"}) {
    replace(file, std::string(8, '\0'));
  }
  const ColmapModel model = read_colmap(scratch_.path());
  EXPECT_TRUE(model.cameras.empty());
  EXPECT_TRUE(model.images.empty());
  EXPECT_TRUE(model.points.empty());
}

TEST_F(BinaryReader, ChecksRigsAndFrames) {
  ColmapModel model = plane_model(1, 4);
  model.rigs = {{RigId(1), {{SensorType::camera, 7, false, {}}, {SensorType::imu, 2, true, {}}}}};
  model.frames = {{FrameId(1), RigId(1), model.images[0].cam_from_world, {}}};
  model.frames[0].data = {{SensorType::camera, 7, 3}, {SensorType::imu, 2, 77}};
  write_colmap(model, scratch_.path(), ColmapFormat::binary);
  expect_equal(read_colmap(scratch_.path()), model);
  for (const char* file : {"rigs.bin", "frames.bin"}) {
    const std::string whole = content(file);
    for (std::size_t size = whole.size(); size-- > 0;) {
      std::filesystem::resize_file(scratch_ / file, size);
      EXPECT_THAT(error(), HasSubstr(file)) << "cut at " << size;
    }
    replace(file, whole);
  }
  patch<std::int32_t>("rigs.bin", 16, 9);
  EXPECT_THAT(error(), HasSubstr("sensor type 9"));
}

}  // namespace
}  // namespace skyfix
