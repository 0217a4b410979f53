#include "skyfix/report/trajectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "skyfix/base/file.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/stream_export.h"
#include "skyfix/report/stream_testing.h"

namespace skyfix {
namespace {

using report_testing::refusal_of;
using report_testing::scratch_folder;
using report_testing::stream_frame_of_run;

Trajectory timed(const std::vector<double>& times) {
  Trajectory path;
  for (const double time : times) path.poses.push_back({"", time, {}});
  return path;
}

Trajectory named(const std::vector<std::string>& names) {
  Trajectory path;
  path.kind = TrajectoryKind::colmap;
  for (const std::string& name : names) path.poses.push_back({name, {}, {}});
  return path;
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const Associated& associated) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const TrajectoryPair& pair : associated.pairs) {
    pairs.emplace_back(pair.estimate, pair.reference);
  }
  return pairs;
}

TEST(Trajectory, EveryKindGivesTheSamePath) {
  const auto folder = scratch_folder();
  StreamRun run = StreamRun::create(folder / "run", {});
  for (std::int64_t index = 1; index <= 7; ++index) run.append(stream_frame_of_run(index));
  run.finish(RunState::finished, "", {});
  const Trajectory own = read_trajectory(folder / "run");
  EXPECT_EQ(own.kind, TrajectoryKind::reconstruction);
  EXPECT_EQ(own.unit, "arbitrary");
  const Trajectory tum = read_trajectory(folder / "run" / "trajectory.tum");
  EXPECT_EQ(tum.kind, TrajectoryKind::tum);
  const Trajectory colmap = read_trajectory(folder / "run" / "sparse");
  EXPECT_EQ(colmap.kind, TrajectoryKind::colmap);
  ASSERT_EQ(own.poses.size(), 6u);
  ASSERT_EQ(tum.poses.size(), 6u);
  ASSERT_EQ(colmap.poses.size(), 6u);
  EXPECT_EQ(pairs_of(associate(own, tum, {})).size(), 6u);
  EXPECT_EQ(associate(own, tum, {}).by, Association::time);
  EXPECT_EQ(associate(own, colmap, {}).by, Association::name);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(tum.poses[i].time_s, own.poses[i].time_s);
    for (const Trajectory* other : {&tum, &colmap}) {
      const Rigid3& pose = other->poses[i].world_from_cam;
      EXPECT_LT((pose.translation - own.poses[i].world_from_cam.translation).norm(), 1e-12);
      EXPECT_LT(rotation_angle(pose.rotation, own.poses[i].world_from_cam.rotation), 1e-12);
    }
  }
}

TEST(Trajectory, ReadsReferencesAndLocalizations) {
  const auto folder = scratch_folder();
  write_file_atomic(
      folder / "reference.json",
      R"({"format": "skyfix-reference", "version": 1, "frame": {"kind": "arbitrary"}, "queries": {
          "b.jpg": {"world_to_camera": {"quaternion_wxyz": [1, 0, 0, 0], "translation": [1, 2, 3]}}}})");
  const Trajectory reference = read_trajectory(folder / "reference.json");
  EXPECT_EQ(reference.kind, TrajectoryKind::reference);
  EXPECT_EQ(reference.poses[0].world_from_cam.translation, Eigen::Vector3d(-1, -2, -3));
  RunSetup setup;
  setup.inputs = {{"b.jpg", 1}};
  RunFolder::create(folder / "run", setup).append({report_testing::sample_ok_fix("b.jpg", 1), {}});
  const Trajectory run = read_trajectory(folder / "run");
  EXPECT_EQ(run.kind, TrajectoryKind::localization);
  EXPECT_EQ(pairs_of(associate(run, reference, {})).size(), 1u);
  EXPECT_EQ(refusal_of([&] { read_trajectory(folder / "none.tum"); }), Reason::unreadable_file);
  EXPECT_EQ(refusal_of([&] { read_trajectory(folder); }), Reason::bad_model);
}

TEST(Trajectory, TimesTakeTheNearestWithinTheWindow) {
  AssociationOptions options;
  options.max_difference_s = 0.1;
  const Trajectory few = timed({0, 1, 2.05, 9});
  const Trajectory many = timed({-0.09, 0.02, 1.2, 1.99, 2.2, 3, 4});
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  EXPECT_EQ(pairs_of(associate(few, many, options)), (Pairs{{0, 1}, {2, 3}}));
  EXPECT_EQ(pairs_of(associate(many, few, options)), (Pairs{{1, 0}, {3, 2}}));
  options.offset_s = -0.15;
  EXPECT_EQ(pairs_of(associate(few, many, options)), (Pairs{{1, 2}, {2, 4}}));
  // Two that want the same: the nearer one has it.
  options.offset_s = 0;
  EXPECT_EQ(pairs_of(associate(timed({0, 0.05}), timed({0.04, 5, 6}), options)), (Pairs{{1, 0}}));
}

TEST(Trajectory, WhatCannotBePutTogetherIsRefused) {
  EXPECT_EQ(refusal_of([] { associate(timed({0}), timed({5}), {}); }), Reason::bad_reference);
  EXPECT_EQ(refusal_of([] { associate(timed({0}), named({"a"}), {}); }), Reason::bad_reference);
  EXPECT_EQ(refusal_of([] { associate(named({"b"}), named({"a"}), {}); }), Reason::bad_reference);
  EXPECT_EQ(refusal_of([] {
              associate(named({"a"}), named({"a"}), {Association::time, 1, 0});
            }),
            Reason::bad_reference);
  EXPECT_THROW(association_from_name("x"), Error);
}

}  // namespace
}  // namespace skyfix
