#include "skyfix/stream/preprocess.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/stream/goldens_testing.h"

namespace skyfix {
namespace {

class Preprocess : public testing::StreamGoldens {
 protected:
  Image image(const std::string& name) const {
    const auto size = shape(name);
    const auto pixels = bytes(name);
    return {int(size[1]), int(size[0]), int(size[2]), {pixels.begin(), pixels.end()}};
  }
  // [3, H, W] as H, W, 3.
  static std::vector<std::uint8_t> interleaved(std::span<const std::uint8_t> planes) {
    const std::size_t plane = planes.size() / 3;
    std::vector<std::uint8_t> pixels(planes.size());
    for (std::size_t i = 0; i < planes.size(); ++i) pixels[i % plane * 3 + i / plane] = planes[i];
    return pixels;
  }
  void expect_exact(const std::string& name, int size, GctFit fit) {
    const Image in = image(name + ".in");
    const std::string out = name + ".out." + std::string(gct_fit_name(fit)) + std::to_string(size);
    const GctFrameMap map = gct_frame_map(in.width, in.height, size, fit);
    const BytePicture found = gct_picture(in, map);
    EXPECT_EQ(found.height, shape(out)[1]) << name;
    EXPECT_EQ(found.width, shape(out)[2]) << name;
    EXPECT_EQ(found.pixels, interleaved(bytes(out))) << name;
    EXPECT_EQ(map.network_width, found.width);
    EXPECT_EQ(map.network_height, found.height);
  }
};

TEST_F(Preprocess, IsExactToTheByte) {
  if (!open("preprocess")) return;
  expect_exact("down", 126, GctFit::crop);
  expect_exact("half_even", 70, GctFit::crop);
  expect_exact("tall", 126, GctFit::crop);
  expect_exact("up", 126, GctFit::crop);
  expect_exact("pad", 126, GctFit::pad);
}

TEST_F(Preprocess, MixedSizesArePaddedAlike) {
  if (!open("preprocess")) return;
  const auto wanted = bytes("mixed_down_up.out.crop126");
  const std::size_t frame = std::size_t{3} * 98 * 126;
  int i = 0;
  for (const char* name : {"down.in", "up.in"}) {
    const Image in = image(name);
    GctFrameMap map = gct_frame_map(in.width, in.height, 126);
    BytePicture picture = gct_picture(in, map);
    pad_to(picture, map, 126, 98);
    EXPECT_EQ(picture.pixels, interleaved(wanted.subspan(frame * i++, frame))) << name;
    EXPECT_EQ(map.network_height, 98);
  }
}

constexpr std::array<double, 9> kPose{1, 2, 3, 0.1, -0.2, 0.3, 0.9, 0.9, 1.2};

// A point seen at a network pixel is seen at that pixel's place of the source, whatever was cut off
// or added.
TEST(GctView, CamerasOfNetworkAndSourceSeeTheSame) {
  const std::tuple<int, int, GctFit> cases[] = {{1920, 1080, GctFit::crop},
                                                {1080, 1920, GctFit::crop},
                                                {700, 700, GctFit::crop},
                                                {1080, 1920, GctFit::pad},
                                                {1920, 1080, GctFit::pad}};
  for (const auto& [width, height, fit] : cases) {
    GctFrameMap map = gct_frame_map(width, height, 518, fit);
    for (const int padded : {0, 28}) {
      if (padded > 0) {
        BytePicture picture{
            std::vector<std::uint8_t>(std::size_t(map.network_width) * map.network_height * 3),
            map.network_width, map.network_height, 3};
        pad_to(picture, map, map.network_width + padded, map.network_height + padded);
      }
      const auto view = gct_view(kPose, map);
      ASSERT_TRUE(view);
      const Eigen::Vector3d point(0.3, -0.2, 2);
      const auto network = view->network_camera.project(point);
      const auto source = view->source_camera.project(point);
      ASSERT_TRUE(network && source);
      EXPECT_NEAR(source->x() * map.scale_x - map.offset_x, network->x(), 1e-9);
      EXPECT_NEAR(source->y() * map.scale_y - map.offset_y, network->y(), 1e-9);
      EXPECT_EQ(view->source_camera.width, width);
    }
  }
}

TEST(GctView, IsTheInverseOfWhatTheNetworkPredicts) {
  const auto view = gct_view(kPose, gct_frame_map(518, 294));
  ASSERT_TRUE(view);
  EXPECT_TRUE(view->cam_from_world.centre().isApprox(Eigen::Vector3d(1, 2, 3), 1e-12));
  EXPECT_NEAR(view->network_camera.params[0], 259 / std::tan(0.6), 1e-9);
  EXPECT_NEAR(view->network_camera.params[1], 147 / std::tan(0.45), 1e-9);
}

TEST(GctView, PosesThatAreNoneAreNotViews) {
  const GctFrameMap map = gct_frame_map(518, 294);
  for (const auto& [entry, value] :
       {std::pair(7, 0.0), std::pair(8, 3.2), std::pair(0, double{NAN})}) {
    auto pose = kPose;
    pose[entry] = value;
    EXPECT_FALSE(gct_view(pose, map)) << entry;
  }
  EXPECT_FALSE(gct_view({0, 0, 0, 0, 0, 0, 0, 1, 1}, map));
}

TEST(GctFrameMap, RefusesWhatHasNoPatches) {
  EXPECT_THROW(gct_frame_map(100, 100, 100), Error);
  EXPECT_THROW(gct_frame_map(2000, 10, 518), Error);
  EXPECT_THROW(gct_frame_map(0, 0, 518), Error);
  EXPECT_EQ(gct_frame_map(1080, 1920).network_height, 518);
}

}  // namespace
}  // namespace skyfix
