#include "skyfix/localize/track_state.h"

#include <gtest/gtest.h>

#include "skyfix/geo/testing.h"

namespace skyfix {
namespace {

GoodFix fix_at(std::int64_t index, double x, double y) {
  GoodFix fix;
  fix.index = index;
  fix.cam_from_map.rotation = Eigen::Quaterniond(0.1, 0.9, 0.3, -0.2).normalized();
  fix.cam_from_map.translation = -(fix.cam_from_map.rotation * Eigen::Vector3d(x, y, 50));
  return fix;
}

TEST(TrackState, ExpectsNothingBeforeTheFirstFix) {
  EXPECT_FALSE(TrackState().expected_pose(5).has_value());
}

TEST(TrackState, ExpectsTheLastPoseAfterOneFix) {
  TrackState track;
  track.add(fix_at(4, 10, 20));
  EXPECT_THAT(*track.expected_pose(5), PoseNear(fix_at(4, 10, 20).cam_from_map, 1e-9, 1e-9));
}

TEST(TrackState, CarriesTheMotionOn) {
  TrackState track;
  track.add(fix_at(4, 10, 20));
  track.add(fix_at(6, 14, 18));
  EXPECT_THAT(track.expected_pose(7)->centre(), VectorNear(Eigen::Vector3d(16, 17, 50), 1e-9));
  EXPECT_THAT(track.expected_pose(9)->centre(), VectorNear(Eigen::Vector3d(20, 15, 50), 1e-9));
}

TEST(TrackState, DoesNotCarryMotionFarAhead) {
  TrackState track;
  track.add(fix_at(4, 10, 20));
  track.add(fix_at(5, 12, 20));
  EXPECT_THAT(track.expected_pose(25)->centre(), VectorNear(Eigen::Vector3d(18, 20, 50), 1e-9));
}

TEST(TrackState, TakesNoMotionFromFixesFarApart) {
  TrackState track;
  track.add(fix_at(4, 10, 20));
  track.add(fix_at(20, 100, 20));
  EXPECT_THAT(track.expected_pose(21)->centre(), VectorNear(Eigen::Vector3d(100, 20, 50), 1e-9));
}

TEST(TrackState, ForgetsAfterManyFramesWithoutAFix) {
  TrackState track;
  track.add(fix_at(4, 10, 20));
  EXPECT_TRUE(track.expected_pose(4 + TrackState::kMaxAgeFrames).has_value());
  EXPECT_FALSE(track.expected_pose(5 + TrackState::kMaxAgeFrames).has_value());
}

TEST(TrackState, IgnoresTheSignOfQuaternions) {
  TrackState plain;
  TrackState flipped;
  for (int i = 0; i < 2; ++i) {
    GoodFix fix = fix_at(i, 3.3 * i, 1.7 * i);
    plain.add(fix);
    fix.cam_from_map.rotation.coeffs() *= -1;
    flipped.add(fix);
  }
  EXPECT_EQ(plain.expected_pose(2)->centre(), flipped.expected_pose(2)->centre());
}

}  // namespace
}  // namespace skyfix
