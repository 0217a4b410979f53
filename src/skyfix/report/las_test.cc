#include "skyfix/report/las.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "skyfix/report/stream_testing.h"

namespace skyfix {
namespace {

using report_testing::sample_stream_frame;
using report_testing::scratch_folder;

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

TEST(Las, ScaleIsFineAndFits) {
  EXPECT_DOUBLE_EQ(las_scale(0.012, 10), 1e-4);
  EXPECT_DOUBLE_EQ(las_scale(0, 10), 1e-3);
  EXPECT_DOUBLE_EQ(las_scale(1e-9, 100), 1e-7);  // 31 bits hold 100 units in steps of 5e-8
  for (const double extent : {1e-3, 1.0, 123.0, 1e7}) {
    EXPECT_LT(extent / las_scale(1e-12, extent), 2147483647.0);
  }
}

// tests/export_tools_test.py reads such files with laspy.
TEST(Las, PointsAreWhereTheCloudsAre) {
  const auto file = scratch_folder() / "cloud.ply";
  {
    CloudWriter cloud(file, {});
    StreamFrame frame = sample_stream_frame(2);
    frame.view.cam_from_world.translation += Eigen::Vector3d(-40, 7, 0);
    cloud.add(frame);
  }
  std::vector<CloudPoint> points;
  const CloudHeader header = read_cloud(file, [&](std::span<const CloudPoint> more) {
    points.insert(points.end(), more.begin(), more.end());
  });
  EXPECT_NE(header.offset.norm(), 0);
  const std::string las = export_cloud_las(file, {{2, 0.25}});
  EXPECT_EQ(las.substr(0, 4), "LASF");
  EXPECT_EQ(at<std::uint8_t>(las, 25), 4);
  EXPECT_EQ(at<std::uint8_t>(las, 104), 7);
  EXPECT_THAT(las, ::testing::HasSubstr("ARBITRARY UNITS, NO CRS"));
  EXPECT_EQ(at<std::uint64_t>(las, 247), points.size());
  const auto data = at<std::uint32_t>(las, 96);
  const auto size = at<std::uint16_t>(las, 105);
  ASSERT_EQ(las.size(), data + size * points.size());
  const double scale = at<double>(las, 131);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t record = data + size * i;
    for (int axis = 0; axis < 3; ++axis) {
      const double value =
          at<std::int32_t>(las, record + 4 * axis) * scale + at<double>(las, 155 + 8 * axis);
      EXPECT_NEAR(value, points[i].xyz[axis] + header.offset[axis], scale);
      EXPECT_LE(value, at<double>(las, 179 + 16 * axis) + 1e-12);
      EXPECT_GE(value, at<double>(las, 187 + 16 * axis) - 1e-12);
    }
    EXPECT_EQ(at<double>(las, record + 22), 0.25);
    EXPECT_EQ(at<std::uint16_t>(las, record + 30), points[i].rgb[0] * 257);
    EXPECT_EQ(at<float>(las, record + 36), points[i].confidence);
    EXPECT_EQ(at<std::uint32_t>(las, record + 40), 2u);
  }
}

TEST(Las, AnEmptyCloudIsAFileToo) {
  const auto file = scratch_folder() / "cloud.ply";
  { CloudWriter cloud(file, {}); }
  const std::string las = export_cloud_las(file, {});
  EXPECT_EQ(las.size(), at<std::uint32_t>(las, 96));
}

}  // namespace
}  // namespace skyfix
