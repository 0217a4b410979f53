// The inner loops of pose search project millions of points: they must not allocate.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "skyfix/geo/camera.h"

namespace {
std::atomic<long> allocations{0};
}

// Not inlined: GCC would see free() meet new and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace skyfix {
namespace {

TEST(CameraHeap, ProjectingAllocatesNothing) {
  const std::vector<Camera> cameras = {
      {CameraModel::simple_radial, 100, 100, {100, 50, 50, -0.1}},
      {CameraModel::opencv_fisheye, 100, 100, {100, 100, 50, 50, 0.1, 0, 0, 0}},
      {CameraModel::full_opencv, 100, 100, {100, 100, 50, 50, .1, .1, .01, .01, .1, .1, .1, .1}},
  };
  Eigen::Matrix<double, 2, 3> by_point;
  for (const Camera& camera : cameras) {
    const long before = allocations;
    int seen = 0;
    for (const double x : {0.0, 0.3, 5.0}) {
      seen += camera.project({x, 0.1, 1}).has_value() ? 1 : 0;
      seen += camera.project({x, 0.1, 1}, &by_point, nullptr).has_value() ? 1 : 0;
      seen += camera.unproject({50 + 30 * x, 40}).has_value() ? 1 : 0;
    }
    EXPECT_EQ(allocations - before, 0) << camera_model_name(camera.model);
    EXPECT_GE(seen, 6);
  }
  const long before = allocations;
  const std::vector<double> held(cameras[0].params);  // the counter does count
  EXPECT_GT(allocations - before, 0);
}

}  // namespace
}  // namespace skyfix
