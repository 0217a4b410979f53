// Poses composed from rigs and frames, and what happens when they contradict the images (case S3).
#include <filesystem>
#include <numbers>

#include "skyfix/geo/testing.h"
#include "skyfix/map/map_testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Rigid3 right_from_left() {
  return {Eigen::Quaterniond(Eigen::AngleAxisd(0.2, Eigen::Vector3d::UnitY())), {-0.5, 0, 0.1}};
}

// Two cameras on one rig, three frames of two images; all poses agree.
ColmapModel rig_model() {
  ColmapModel model = plane_model(6, 20);
  model.cameras[CameraId(8)] = model.cameras.begin()->second;
  model.rigs = {
      {RigId(1),
       {{SensorType::camera, 7, false, {}}, {SensorType::camera, 8, true, right_from_left()}}}};
  for (std::uint32_t f = 0; f < 3; ++f) {
    ColmapImage& left = model.images[2 * f];
    ColmapImage& right = model.images[2 * f + 1];
    right.camera = CameraId(8);
    right.cam_from_world = right_from_left() * left.cam_from_world;
    model.frames.push_back(
        {FrameId(10 + f),
         RigId(1),
         left.cam_from_world,
         {{SensorType::camera, 7, left.id.value}, {SensorType::camera, 8, right.id.value}}});
  }
  return model;
}

// Turns the camera by 5 degrees and moves its centre by 0.30 m.
Rigid3 disturbed(const Rigid3& cam_from_world) {
  const double angle = 5 * std::numbers::pi / 180;
  Rigid3 pose = cam_from_world;
  pose.rotation = (Eigen::AngleAxisd(angle, Eigen::Vector3d(1, 2, 2).normalized()) * pose.rotation)
                      .normalized();
  pose.translation = -(pose.rotation * (cam_from_world.centre() + Eigen::Vector3d(0, 0.3, 0)));
  return pose;
}

class Rigs : public ::testing::TestWithParam<ColmapFormat> {
 protected:
  Rigs() : truth_(rig_model()), contradicting_(truth_) {
    for (const int image : {1, 5}) {
      contradicting_.images[image].cam_from_world = disturbed(truth_.images[image].cam_from_world);
    }
    write_colmap(contradicting_, scratch_.path(), GetParam());
  }
  fs::path file(const char* stem) const {
    return scratch_ / (stem + std::string(GetParam() == ColmapFormat::binary ? ".bin" : ".txt"));
  }
  ScratchFolder scratch_;
  ColmapModel truth_;
  ColmapModel contradicting_;
};
INSTANTIATE_TEST_SUITE_P(Formats, Rigs, ::testing::Values(ColmapFormat::binary, ColmapFormat::text),
                         [](const auto& info) {
                           return info.param == ColmapFormat::binary ? "binary" : "text";
                         });

TEST_P(Rigs, FramesWinOverContradictingImages) {
  const ColmapModel model = read_colmap(scratch_.path());
  for (std::size_t i = 0; i < model.images.size(); ++i) {
    EXPECT_THAT(model.images[i].cam_from_world,
                PoseNear(truth_.images[i].cam_from_world, 1e-9, 1e-6));
  }
  EXPECT_THAT(model.warnings, ElementsAre(AllOf(HasSubstr("2 images"), HasSubstr("5.0 deg"),
                                                HasSubstr("0.30 map units"))));
}

TEST_P(Rigs, WithoutRigsAndFramesTheImagesCount) {
  fs::remove(file("rigs"));
  fs::remove(file("frames"));
  const ColmapModel model = read_colmap(scratch_.path());
  contradicting_.rigs.clear();
  contradicting_.frames.clear();
  expect_equal(model, contradicting_);
  EXPECT_THAT(model.warnings, IsEmpty());
}

TEST_P(Rigs, RigsWithoutFramesFallBackToTheImages) {
  fs::remove(file("frames"));
  const ColmapModel model = read_colmap(scratch_.path());
  contradicting_.rigs.clear();
  contradicting_.frames.clear();
  expect_equal(model, contradicting_);
  EXPECT_THAT(model.warnings, ElementsAre(HasSubstr("without frames")));
}

TEST_P(Rigs, FramesWithoutRigsFallBackToTheImages) {
  fs::remove(file("rigs"));
  EXPECT_THAT(read_colmap(scratch_.path()).warnings, ElementsAre(HasSubstr("without rigs")));
}

TEST_P(Rigs, AgreementIsSilentAndRoundTrips) {
  write_colmap(truth_, scratch_.path(), GetParam());
  const ColmapModel model = read_colmap(scratch_.path());
  EXPECT_THAT(model.warnings, IsEmpty());
  expect_equal(model, truth_);
}

TEST_P(Rigs, SixDigitsAreNoContradiction) {
  for (ColmapImage& image : truth_.images) {
    image.cam_from_world.rotation.coeffs().array() += 2e-7;
    image.cam_from_world.translation.array() += 1e-6;
  }
  write_colmap(truth_, scratch_.path(), GetParam());
  EXPECT_THAT(read_colmap(scratch_.path()).warnings, IsEmpty());
}

TEST_P(Rigs, ImagesOutsideAllFramesKeepTheirPoses) {
  contradicting_.frames.pop_back();
  contradicting_.frames[0].data.push_back({SensorType::camera, 7, 4711});
  write_colmap(contradicting_, scratch_.path(), GetParam());
  const ColmapModel model = read_colmap(scratch_.path());
  EXPECT_THAT(model.images[5].cam_from_world,
              PoseNear(contradicting_.images[5].cam_from_world, 1e-9, 1e-6));
  EXPECT_THAT(model.warnings,
              ElementsAre(HasSubstr("2 images are in no frame"),
                          HasSubstr("1 images named by frames"), HasSubstr("1 images have poses")));
}

TEST_P(Rigs, BrokenReferencesAreErrors) {
  ColmapModel broken = truth_;
  broken.frames[1].rig = RigId(99);
  write_colmap(broken, scratch_.path(), GetParam());
  EXPECT_THAT(error_of(Reason::bad_model, [&] { read_colmap(scratch_.path()); }),
              AllOf(HasSubstr("frame 11"), HasSubstr("rig 99")));
  broken = truth_;
  broken.frames[1].data[1].sensor_id = 55;
  write_colmap(broken, scratch_.path(), GetParam());
  EXPECT_THAT(error_of(Reason::bad_model, [&] { read_colmap(scratch_.path()); }),
              AllOf(HasSubstr("frame 11"), HasSubstr("camera 55")));
  broken = truth_;
  broken.rigs.push_back(broken.rigs[0]);
  write_colmap(broken, scratch_.path(), GetParam());
  EXPECT_THAT(error_of(Reason::bad_model, [&] { read_colmap(scratch_.path()); }),
              HasSubstr("twice"));
}

}  // namespace
}  // namespace skyfix
