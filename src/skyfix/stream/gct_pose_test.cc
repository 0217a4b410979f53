#include "skyfix/stream/gct_pose.h"

#include <gmock/gmock.h>

#include "skyfix/stream/goldens_testing.h"

namespace skyfix {
namespace {

class GctPoseGoldens : public testing::StreamGoldens {
 protected:
  GctPose pose(const std::vector<float>& encoded, std::size_t i) const {
    GctPose pose;
    std::copy_n(encoded.begin() + 9 * i, 9, pose.begin());
    return pose;
  }
};

TEST_F(GctPoseGoldens, QuaternionsThatAreNotOfUnitLengthGiveRotations) {
  if (!open("units")) return;
  const auto in = values("quat.in"), matrices = values("quat.matrix"), back = values("quat.back");
  for (std::size_t i = 0; i < in.size() / 4; ++i) {
    GctPose pose{};
    std::copy_n(in.begin() + 4 * i, 4, pose.begin() + 3);
    const Eigen::Matrix3d rotation = gct_rotation(pose);
    const Eigen::Matrix<float, 3, 3, Eigen::RowMajor> found = rotation.cast<float>();
    expect_close({found.data(), 9}, {matrices.data() + 9 * i, 9}, 1e-5, "matrix");
    const auto quaternion = gct_quaternion(rotation);
    const std::vector<float> again(quaternion.begin(), quaternion.end());
    expect_close(again, {back.data() + 4 * i, 4}, 1e-5, "quaternion");
  }
}

TEST_F(GctPoseGoldens, FocalLengthsComeFromTheFields) {
  if (!open("units")) return;
  const auto encoded = values("pose.enc"), intrinsics = values("pose.intrinsics_12x16");
  for (std::size_t i = 0; i < encoded.size() / 9; ++i) {
    const GctFocal focal = gct_focal(pose(encoded, i), 16, 12);
    const std::vector<float> found{float(focal.x), float(focal.y)};
    const std::vector<float> wanted{intrinsics[9 * i], intrinsics[9 * i + 4]};
    expect_close(found, wanted, 1e-5, "focal lengths");
  }
}

TEST_F(GctPoseGoldens, PixelsMoveAsTheReferenceSays) {
  if (!open("units")) return;
  const auto encoded = values("pose.enc"), depth = values("pose.depth"),
             wanted = values("flow.mean_pixels_stride8_vs_frame0");
  std::vector<float> found;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    found.push_back(static_cast<float>(mean_displacement_px(
        pose(encoded, i), {depth.data() + i * 192, 192}, 16, 12, pose(encoded, 0))));
  }
  expect_close(found, wanted, 1e-5, "displacement");
}

TEST(GctPose, NothingMovesWithoutDepthOrMotion) {
  const GctPose still{0, 0, 0, 0, 0, 0, 1, 1, 1};
  const std::vector<float> none(32 * 16, 0.0F), some(32 * 16, 2.0F);
  EXPECT_EQ(mean_displacement_px(still, none, 32, 16, still), 0);
  EXPECT_NEAR(mean_displacement_px(still, some, 32, 16, still), 0, 1e-9);
  GctPose moved = still;
  moved[0] = 0.1;
  const double focal = gct_focal(still, 32, 16).x;
  EXPECT_NEAR(mean_displacement_px(moved, some, 32, 16, still), focal * 0.1 / 2, 1e-9);
}

}  // namespace
}  // namespace skyfix
