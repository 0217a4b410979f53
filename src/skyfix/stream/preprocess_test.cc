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

// The reference's decoding of a pose, and where it puts each pixel's depth in the world.
TEST_F(Preprocess, ViewsUnprojectAsTheReferenceDoes) {
  if (!open("units")) return;
  const auto encoded = values("pose.enc"), depth = values("pose.depth");
  const auto to_cam = values("pose.world_to_cam"), to_world = values("pose.cam_to_world");
  const GctFrameMap map{16, 12, 16, 12};
  std::vector<float> points, cam_from_world, world_from_cam;
  const auto append = [](const Rigid3& rigid, std::vector<float>& rows) {
    const Eigen::Matrix3d rotation = rigid.rotation.toRotationMatrix();
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) rows.push_back(static_cast<float>(rotation(r, c)));
      rows.push_back(static_cast<float>(rigid.translation[r]));
    }
  };
  for (std::size_t i = 0; i < encoded.size() / 9; ++i) {
    std::array<double, 9> pose{};
    std::copy_n(encoded.begin() + 9 * i, 9, pose.begin());
    const auto view = gct_view(pose, map);
    ASSERT_TRUE(view) << i;
    append(view->cam_from_world, cam_from_world);
    append(view->cam_from_world.inverse(), world_from_cam);
    for (int v = 0; v < 12; ++v) {
      for (int u = 0; u < 16; ++u) {
        const double d = depth[(i * 12 + v) * 16 + u];
        const Camera& camera = view->network_camera;
        const Eigen::Vector3d point((u - camera.principal_point().x()) * d / camera.focal_x(),
                                    (v - camera.principal_point().y()) * d / camera.focal_y(), d);
        const Eigen::Vector3d world = view->cam_from_world.inverse() * point;
        for (const double each : world) points.push_back(static_cast<float>(each));
        if (!(d > 1e-6)) continue;
        const auto seen = camera.project(view->cam_from_world * world);
        ASSERT_TRUE(seen);
        EXPECT_NEAR(seen->x(), u, 1e-6);
        EXPECT_NEAR(seen->y(), v, 1e-6);
      }
    }
  }
  expect_close(cam_from_world, to_cam, 1e-5, "world to camera");
  expect_close(world_from_cam, to_world, 1e-5, "camera to world");
  expect_close(points, values("pose.points"), 1e-5, "points");
}

// A picture's own corners are where its pixels are, whatever the network was shown of it.
TEST(GctView, APointAtTheMiddleOfWhatTheNetworkSawLiesThereInTheSource) {
  const std::tuple<int, int, GctFit, double, double> cases[] = {
      {1920, 1080, GctFit::crop, 960, 540},
      {1080, 1920, GctFit::crop, 540, 960},  // rows 420 to 1500
      {1080, 1920, GctFit::pad, 540, 960},
  };
  for (const auto& [width, height, fit, x, y] : cases) {
    const auto view = gct_view(kPose, gct_frame_map(width, height, 518, fit));
    ASSERT_TRUE(view);
    const auto seen = view->source_camera.project(Eigen::Vector3d(0, 0, 1));
    ASSERT_TRUE(seen);
    // An odd number of rows cut off or added is split unevenly: at most half a network pixel.
    const double half = 0.5 * std::max(width, height) / 518.0;
    EXPECT_NEAR(seen->x(), x, half);
    EXPECT_NEAR(seen->y(), y, half);
  }
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
