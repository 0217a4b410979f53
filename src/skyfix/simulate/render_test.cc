#include <gmock/gmock.h>
#include <algorithm>

#include <numeric>

#include "skyfix/base/error.h"
#include "skyfix/base/parallel.h"
#include "skyfix/simulate/flight.h"
#include "skyfix/simulate/testing.h"
#include "skyfix/simulate/tracks.h"

namespace skyfix::sim {
namespace {

Camera test_camera() {
  SimulateOptions options;
  options.width_px = 240;
  return flight_camera(options);
}

Rigid3 nadir(const Eigen::Vector3d& centre, double yaw_deg = 0) {
  Rigid3 pose;
  pose.rotation = cam_from_enu(GimbalAngles{yaw_deg, -90, 0});
  pose.translation = -(pose.rotation * centre);
  return pose;
}

double mean_of(const Image& image) {
  return std::accumulate(image.pixels.begin(), image.pixels.end(), 0.0) / image.pixels.size();
}

TEST(Render, GivesEqualBytesWithAnyNumberOfThreads) {
  const Scene scene(1, 200);
  const std::size_t threads = thread_count();
  set_thread_count(1);
  const Image one = render(scene, test_camera(), nadir({5, 3, 80}), {}, 0.6, 9);
  set_thread_count(3);
  const Image three = render(scene, test_camera(), nadir({5, 3, 80}), {}, 0.6, 9);
  set_thread_count(threads);
  EXPECT_EQ(one.pixels, three.pixels);
  EXPECT_EQ(one.channels, 3);
  EXPECT_EQ(one.width, 240);
  EXPECT_EQ(one.height, 160);
}

// The same place looks alike from another altitude and heading; the wrong place does not.
TEST(Render, ShowsOnePlaceAlikeInTwoPhotos) {
  const Scene scene(1, 200);
  const Camera camera = test_camera();
  const Rigid3 pose_a = nadir({0, 0, 80});
  const Rigid3 pose_b = nadir({6, -4, 92}, 35);
  const Image a = to_grey(render(scene, camera, pose_a, {}, 0, 1));
  const Image b = to_grey(render(scene, camera, pose_b, {}, 0, 2));
  double same = 0;
  double shifted = 0;
  int count = 0;
  for (double east = -25; east < 25; east += 0.7) {
    for (double north = -20; north < 20; north += 0.7) {
      const Eigen::Vector3d point(east, north, scene.height(east, north));
      const auto pixel_a = observe(scene, camera, pose_a, point);
      const auto pixel_b = observe(scene, camera, pose_b, point);
      if (!pixel_a || !pixel_b) continue;
      const double grey_a = a.row(int(pixel_a->y()))[int(pixel_a->x())];
      same += std::abs(grey_a - b.row(int(pixel_b->y()))[int(pixel_b->x())]);
      shifted += std::abs(grey_a - b.row(int(pixel_b->y()) / 2)[int(pixel_b->x()) / 2]);
      ++count;
    }
  }
  ASSERT_GT(count, 1000);
  EXPECT_LT(same / count, 0.55 * shifted / count);
}

TEST(Render, FollowsTheLight) {
  const Scene scene(1, 200);
  const Image plain = render(scene, test_camera(), nadir({0, 0, 80}), {}, 0, 1);
  Light dim;
  dim.gain = 0.6;
  Light low_sun;
  low_sun.elevation_deg = 15;
  EXPECT_LT(mean_of(render(scene, test_camera(), nadir({0, 0, 80}), dim, 0, 1)),
            0.9 * mean_of(plain));
  EXPECT_LT(mean_of(render(scene, test_camera(), nadir({0, 0, 80}), low_sun, 0, 1)),
            0.9 * mean_of(plain));
  EXPECT_THAT(mean_of(plain), testing::AllOf(testing::Gt(70), testing::Lt(170)));
}

TEST(Render, ShowsHazeBeyondTheSceneAndRefusesABadCamera) {
  const Scene scene(1, 60);
  const Image haze = render(scene, test_camera(), nadir({500, 0, 80}), {}, 0, 1);
  const auto [low, high] = std::minmax_element(haze.pixels.begin(), haze.pixels.end());
  EXPECT_GT(*low, 170);
  EXPECT_LT(*high, 230);
  Camera bad = test_camera();
  bad.params.pop_back();
  EXPECT_THROW(render(scene, bad, nadir({0, 0, 80}), {}, 0, 1), Error);
}

}  // namespace
}  // namespace skyfix::sim
