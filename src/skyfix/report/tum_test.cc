#include "skyfix/report/tum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using report_testing::scratch_folder;

std::vector<TumPose> read(const std::string& text) {
  const auto file = scratch_folder() / "t.tum";
  write_file_atomic(file, text);
  return read_tum(file);
}

TEST(Tum, ReadsWhatItWrites) {
  const Rigid3 pose{Eigen::Quaterniond(Eigen::AngleAxisd(1, Eigen::Vector3d(1, 2, 3).normalized())),
                    {1.0 / 3, -2e-17, 1e15 / 7}};
  const auto poses =
      read("# head\n" + tum_line(-1, pose) + "\n" + tum_line(1'700'000'000'123'456'789, pose));
  ASSERT_EQ(poses.size(), 2u);
  EXPECT_EQ(poses[0].time_s, -1e-9);
  EXPECT_EQ(poses[1].world_from_cam.translation, pose.translation);
  EXPECT_LT(rotation_angle(poses[1].world_from_cam.rotation, pose.rotation), 1e-15);
}

TEST(Tum, ReadsWhatOthersWrite) {
  EXPECT_EQ(read("1.5  0 0 0  0 0 0 1\r\n2\t0 0 0 0 0 0 -1").size(), 2u);
}

TEST(Tum, RefusesInWords) {
  for (const char* text :
       {"", "# nothing\n", "1 2 3\n", "1 0 0 0 0 0 0 1 9\n", "1,0,0,0,0,0,0,1\n",
        "1 0 nan 0 0 0 0 1\n", "1 0 0 0 0 0 0 0\n", "1 0 0 0 1 0 0 1\n",
        "1 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n", "2 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n",
        "1 0 0 0 0 0 0 1e999\n", "\xFF\xFE\n"}) {
    EXPECT_EQ(refusal_of([&] { read(text); }), Reason::bad_reference) << text;
  }
}

}  // namespace
}  // namespace skyfix
