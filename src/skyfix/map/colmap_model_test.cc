#include "skyfix/map/colmap_model.h"

#include <filesystem>

#include "skyfix/map/map_testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RoundTrip : public ::testing::TestWithParam<ColmapFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip,
                         ::testing::Values(ColmapFormat::binary, ColmapFormat::text),
                         [](const auto& info) {
                           return info.param == ColmapFormat::binary ? "binary" : "text";
                         });

TEST_P(RoundTrip, GivesEqualValuesBitByBit) {
  const ScratchFolder scratch;
  ColmapModel model = plane_model(4, 20);
  // Values that few digits cannot hold, the largest ids, an image without observations.
  model.points[0].xyz = {1.0 / 3, -1e-300, 12345678.901234567};
  model.points[1].id = PointId(0xFFFFFFFFFFFFFFFEull);
  model.images[1].id = ImageId(0xFFFFFFFEu);
  model.images[2].cam_from_world.rotation = Eigen::Quaterniond(0.1, 0.2, -0.3, 0.4).normalized();
  model.images[3].observations.clear();
  model.cameras[CameraId(1)] = {CameraModel::full_opencv,
                                4000,
                                3000,
                                {3000, 3001, 2000, 1500, 0.1, -0.2, 1e-4, 2e-5, 0.3, 1, 2, 3}};
  write_colmap(model, scratch.path(), GetParam());
  const ColmapModel back = read_colmap(scratch.path());
  expect_equal(model, back);
  EXPECT_THAT(back.warnings, IsEmpty());
}

TEST_P(RoundTrip, KeepsRealModels) {
  struct Expected {
    const char* name;
    std::size_t images, points, observations;
  };
  for (const auto& [name, images, points, observations] :
       {Expected{"brighton", 13, 3565, 12939}, Expected{"university", 22, 744, 3217}}) {
    const fs::path source = shared_data(name) / "sparse" / "0";
    SKYFIX_NEED_SHARED(source);
    const ColmapModel model = read_colmap(source);
    EXPECT_EQ(model.images.size(), images);
    EXPECT_EQ(model.points.size(), points);
    std::size_t tracked = 0;
    for (const ColmapPoint& point : model.points) tracked += point.track.size();
    EXPECT_EQ(tracked, observations);
    const ScratchFolder scratch;
    write_colmap(model, scratch.path(), GetParam());
    expect_equal(model, read_colmap(scratch.path()));
  }
}

TEST(ColmapWriter, RepeatsTheBytesOfAForeignBinaryModel) {
  const fs::path source = shared_data("brighton") / "sparse" / "0";
  SKYFIX_NEED_SHARED(source);
  const ScratchFolder scratch;
  write_colmap(read_colmap(source), scratch.path(), ColmapFormat::binary);
  for (const char* file : {"cameras.bin", "points3D.bin"}) {
    EXPECT_EQ(read_file(source / file), read_file(scratch / file)) << file;
  }
  // Quaternions are made unit on reading, so the images' bytes may differ in their last bits.
  EXPECT_EQ(fs::file_size(source / "images.bin"), fs::file_size(scratch / "images.bin"));
}

TEST_P(RoundTrip, KeepsNamesWithBlanksAndFolders) {  // case S1
  const ScratchFolder scratch;
  ColmapModel model = plane_model(3, 19);  // 20 observations an image
  for (int i = 0; i < 3; ++i) model.images[i].name = names_with_blanks()[i];
  write_colmap(model, scratch.path(), GetParam());
  const ColmapModel back = read_colmap(scratch.path());
  std::size_t observations = 0;
  ASSERT_EQ(back.images.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(back.images[i].name, names_with_blanks()[i]);
    observations += back.images[i].observations.size();
  }
  EXPECT_EQ(observations, 60u);
}

TEST(ColmapWriter, BinarySizesAreColmaps) {  // formats 1.2, measured sizes
  const ScratchFolder scratch;
  ColmapModel model = plane_model(3, 1);
  model.points[0].track.resize(2);
  model.rigs = {{RigId(1), {{SensorType::camera, 7, false, {}}}}};
  for (const ColmapImage& image : model.images) {
    model.frames.push_back({FrameId(image.id.value),
                            RigId(1),
                            image.cam_from_world,
                            {{SensorType::camera, 7, image.id.value}}});
  }
  write_colmap(model, scratch.path(), ColmapFormat::binary);
  EXPECT_EQ(fs::file_size(scratch / "cameras.bin"), 64u);
  EXPECT_EQ(fs::file_size(scratch / "rigs.bin"), 24u);
  EXPECT_EQ(fs::file_size(scratch / "frames.bin"), 260u);
  EXPECT_EQ(fs::file_size(scratch / "points3D.bin"), 75u);
}

TEST(ColmapWriter, RefusesWhatWouldComeBackChanged) {
  const ScratchFolder scratch;
  ColmapModel model = plane_model(1, 5);
  model.images[0].name = " leading.jpg";
  EXPECT_THAT(error_of(Reason::unwritable_output,
                       [&] { write_colmap(model, scratch / "t", ColmapFormat::text); }),
              HasSubstr("binary"));
  write_colmap(model, scratch / "b", ColmapFormat::binary);
  EXPECT_EQ(read_colmap(scratch / "b").images[0].name, " leading.jpg");
  model.images[0].name = "two\nlines.jpg";
  error_of(Reason::unwritable_output,
           [&] { write_colmap(model, scratch / "t", ColmapFormat::text); });
  model.images[0].name = "fine.jpg";
  EXPECT_THAT(error_of(Reason::unwritable_output,
                       [&] { write_colmap(model, scratch / "b", ColmapFormat::text); }),
              HasSubstr("prefer"));
}

TEST(ColmapWriter, RemovesRigsOfAnOlderModel) {
  const ScratchFolder scratch;
  ColmapModel model = plane_model(2, 5);
  model.rigs = {{RigId(1), {{SensorType::camera, 7, false, {}}}}};
  model.frames = {{FrameId(1), RigId(1), model.images[0].cam_from_world, {}}};
  write_colmap(model, scratch.path(), ColmapFormat::binary);
  model.rigs.clear();
  model.frames.clear();
  write_colmap(model, scratch.path(), ColmapFormat::binary);
  EXPECT_FALSE(fs::exists(scratch / "rigs.bin"));
  EXPECT_FALSE(fs::exists(scratch / "frames.bin"));
}

TEST(ReadColmap, PrefersBinary) {
  const ScratchFolder scratch;
  write_colmap(plane_model(5, 5), scratch.path(), ColmapFormat::text);
  write_colmap(plane_model(2, 5), scratch.path(), ColmapFormat::binary);
  EXPECT_EQ(read_colmap(scratch.path()).images.size(), 2u);
  fs::remove(scratch / "points3D.bin");  // an incomplete set is none
  EXPECT_EQ(read_colmap(scratch.path()).images.size(), 5u);
  fs::remove(scratch / "points3D.txt");
  EXPECT_THAT(error_of(Reason::bad_model, [&] { read_colmap(scratch.path()); }),
              HasSubstr("points3D are needed"));
}

TEST(FindColmapModel, TakesTheLargest) {
  const ScratchFolder scratch;
  write_colmap(plane_model(2, 5), scratch / "sparse/0", ColmapFormat::binary);
  write_colmap(plane_model(9, 5), scratch / "sparse/1", ColmapFormat::text);
  write_colmap(plane_model(9, 5), scratch / "sparse/10", ColmapFormat::binary);
  write_colmap(plane_model(4, 5), scratch / "sparse/2", ColmapFormat::binary);
  EXPECT_EQ(find_colmap_model(scratch.path()), scratch / "sparse/1");
  EXPECT_EQ(find_colmap_model(scratch / "sparse"), scratch / "sparse/1");
  EXPECT_EQ(find_colmap_model(scratch / "sparse/0"), scratch / "sparse/0");
  write_colmap(plane_model(10, 5), scratch / "sparse", ColmapFormat::binary);
  EXPECT_EQ(find_colmap_model(scratch.path()), scratch / "sparse");
}

TEST(FindColmapModel, ADamagedModelIsNotTheLargest) {
  const ScratchFolder scratch;
  write_colmap(plane_model(2, 5), scratch / "sparse/0", ColmapFormat::binary);
  write_colmap(plane_model(2, 5), scratch / "sparse/1", ColmapFormat::binary);
  write_file_atomic(scratch / "sparse/1/images.bin", std::string(8, '\x7f'));
  EXPECT_EQ(find_colmap_model(scratch.path()), scratch / "sparse/0");
}

TEST(FindColmapModel, SaysWhatItLookedFor) {
  const ScratchFolder scratch;
  EXPECT_THAT(error_of(Reason::bad_model, [&] { find_colmap_model(scratch.path()); }),
              ::testing::AllOf(HasSubstr("sparse/"), HasSubstr("points3D")));
  EXPECT_THAT(error_of(Reason::bad_model, [&] { find_colmap_model(scratch / "nowhere"); }),
              HasSubstr("nowhere"));
}

}  // namespace
}  // namespace skyfix
