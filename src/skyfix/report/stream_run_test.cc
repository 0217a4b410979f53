#include "skyfix/report/stream_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "skyfix/base/file.h"
#include "skyfix/report/cloud_file.h"
#include "skyfix/report/full_disk_testing.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/stream_export.h"
#include "skyfix/report/stream_testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using report_testing::FullDisk;
using report_testing::refusal_of;
using report_testing::scratch_folder;
using report_testing::stream_frame_of_run;
using ::testing::HasSubstr;

constexpr std::int64_t kFrames = 12;

StreamRunSetup setup_of(DepthFormat depth = DepthFormat::png) {
  StreamRunSetup setup;
  setup.configuration = {{"weights", "abc"}, {"options", {{"window", 64}}}};
  setup.about = {{"version", "0.1.0"}};
  setup.outputs.depth = depth;
  setup.outputs.colmap_max_points = 200;
  setup.host.host = "box";
  return setup;
}

void run_to_end(StreamRun& run, int pause_us = 0) {
  const std::int64_t recorded = std::ssize(run.recorded());
  for (std::int64_t index = recorded + 1; index <= kFrames; ++index) {
    run.append(stream_frame_of_run(index));
    if (pause_us > 0) ::usleep(pause_us);
  }
  run.finish(RunState::finished, "", {});
}

fs::path whole_run(const StreamRunSetup& setup = setup_of()) {
  const fs::path folder = scratch_folder() / "run";
  StreamRun run = StreamRun::create(folder, setup);
  run_to_end(run);
  return folder;
}

// Every file but run.json, which holds times.
std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (entry.is_regular_file() && name != "run.json") contents[name] = read_file(entry.path());
  }
  return contents;
}

// Everything that is there can be used, whatever happened.
void expect_valid(const fs::path& folder) {
  const StreamRunContents run = read_stream_run(folder);
  EXPECT_EQ(run.manifest["units"], "arbitrary");
  const CloudHeader cloud = read_cloud(folder / "cloud.ply");
  EXPECT_GE(fs::file_size(folder / "cloud.ply"),
            kCloudHeaderBytes + cloud.points * kCloudPointBytes);
  for (const StreamRecord& record : run.records) {
    if (!record.view) continue;
    EXPECT_GT(fs::file_size(folder / record.view->depth->file), 0u);
  }
  const std::string tum = export_stream_tum(run.records);
  EXPECT_EQ(read_file(folder / "trajectory.tum").substr(0, tum.size()), tum);
}

TEST(StreamRun, WritesEverything) {
  const fs::path folder = whole_run();
  expect_valid(folder);
  const StreamRunContents run = read_stream_run(folder);
  EXPECT_EQ(run_kind(folder), RunKind::reconstruct);
  EXPECT_EQ(run.manifest["schema"], "skyfix-stream-run-1");
  EXPECT_EQ(run.manifest["state"], "finished");
  EXPECT_EQ(run.manifest["about"]["units"], "arbitrary");
  EXPECT_EQ(run.manifest["counts"]["ok"], kFrames - 1);
  EXPECT_EQ(run.manifest["reasons"]["corrupt_image"], 1);
  EXPECT_EQ(run.manifest["configuration"]["outputs"]["confidence_threshold"], 1.5);
  ASSERT_EQ(run.records.size(), std::size_t(kFrames));
  EXPECT_FALSE(run.records[4].view);
  EXPECT_EQ(run.records[11].view->depth->file, "depth/clip, 1.mp4#12.png");
  const Json cloud = Json::parse(read_file(folder / "cloud.json"));
  EXPECT_EQ(cloud["units"], "arbitrary");
  EXPECT_EQ(cloud["points"], read_cloud(folder / "cloud.ply").points);
  EXPECT_EQ(cloud["points_by_frame"].size(), std::size_t(kFrames - 1));
  const ColmapModel model = read_colmap(folder / "sparse" / "0");
  EXPECT_EQ(model.images.size(), std::size_t(kFrames - 1));
  EXPECT_LE(model.points.size(), 200u);
  EXPECT_GT(model.points.size(), 20u);
  EXPECT_EQ(canonical_stream_records(folder).find("telemetry"), std::string::npos);
}

TEST(StreamRun, IsToldFromTheOtherJob) {
  const fs::path stream = whole_run();
  EXPECT_EQ(refusal_of([&] { read_run(stream); }), Reason::bad_run);
  const fs::path photos = scratch_folder() / "run";
  RunFolder::create(photos, {}).finish(RunState::finished);
  EXPECT_EQ(run_kind(photos), RunKind::localize);
  EXPECT_EQ(refusal_of([&] { read_stream_run(photos); }), Reason::bad_run);
  EXPECT_EQ(refusal_of([&] { StreamRun::resume(photos, setup_of()); }), Reason::bad_run);
}

TEST(StreamRun, OutputsThatAreNotWantedAreNotWritten) {
  StreamRunSetup setup = setup_of(DepthFormat::none);
  setup.outputs.cloud = false;
  setup.outputs.colmap = false;
  const fs::path folder = whole_run(setup);
  EXPECT_THAT(contents_of(folder), ::testing::SizeIs(2));  // records and trajectory
  StreamRun again = StreamRun::resume(folder, setup);
  EXPECT_EQ(std::ssize(again.recorded()), kFrames);
}

// Cut behind every frame, with what a killed process may leave.
TEST(StreamRun, GoesOnToTheSameBytesFromEveryFrame) {
  for (const DepthFormat depth : {DepthFormat::png, DepthFormat::npy}) {
    StreamRunSetup setup = setup_of(depth);
    setup.outputs.cloud_options.max_points = 1000;
    const auto wanted = contents_of(whole_run(setup));
    for (std::int64_t last = 0; last <= kFrames; ++last) {
      const fs::path folder = scratch_folder() / "run";
      {
        StreamRun run = StreamRun::create(folder, setup);
        for (std::int64_t index = 1; index <= last; ++index) run.append(stream_frame_of_run(index));
        if (last % 3 == 1) run.finish(RunState::cancelled, "", {});
      }
      // The record of the frame that was in hand is cut.
      if (last > 0) {
        const fs::path records = folder / "records.jsonl";
        fs::resize_file(records, fs::file_size(records) - 9);
      }
      std::ofstream(folder / "trajectory.tum", std::ios::app) << "12.5 0.3";
      std::ofstream(folder / "cloud.ply.partial-12-0") << "x";
      StreamRun resumed = StreamRun::resume(folder, setup);
      EXPECT_EQ(std::ssize(resumed.recorded()), std::max<std::int64_t>(last - 1, 0));
      run_to_end(resumed);
      EXPECT_EQ(contents_of(folder), wanted) << last;
      EXPECT_EQ(read_stream_run(folder).manifest["resumed"].size(), 1u);
    }
  }
}

TEST(StreamRun, SurvivesBeingKilledAtAnyMoment) {
  const auto wanted = contents_of(whole_run());
  int cut = 0;
  for (int attempt = 0; attempt < 12; ++attempt) {
    const fs::path folder = scratch_folder() / "run";
    const pid_t child = ::fork();
    if (child == 0) {
      StreamRun run = StreamRun::create(folder, setup_of());
      run_to_end(run, 300);
      ::_exit(0);
    }
    ::usleep(2000 + 1500 * attempt);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    if (!fs::exists(folder / "run.json")) continue;
    if (fs::exists(folder / "cloud.ply") &&
        fs::file_size(folder / "cloud.ply") >= kCloudHeaderBytes) {
      expect_valid(folder);
    }
    StreamRun resumed = StreamRun::resume(folder, setup_of());
    cut += std::ssize(resumed.recorded()) < kFrames ? 1 : 0;
    run_to_end(resumed);
    EXPECT_EQ(contents_of(folder), wanted);
  }
  EXPECT_GT(cut, 0);
}

TEST(StreamRun, AFullDiskStopsItCleanly) {
  const auto wanted = contents_of(whole_run());
  // The largest files are cut first: the cloud at some sizes, trajectory or records at others.
  int refused = 0;
  for (std::size_t limit = 1100; limit < 60'000; limit += 2900) {
    const fs::path folder = scratch_folder() / "run";
    StreamRun run = StreamRun::create(folder, setup_of());
    std::int64_t done = 0;
    {
      const FullDisk disk(limit);
      try {
        for (std::int64_t index = 1; index <= kFrames; ++index) {
          run.append(stream_frame_of_run(index));
          ++done;
        }
        run.finish(RunState::finished, "", {});
      } catch (const Error& error) {
        EXPECT_EQ(error.reason(), Reason::unwritable_output) << error.message();
        ++refused;
      }
    }
    expect_valid(folder);
    EXPECT_GE(std::ssize(read_stream_run(folder).records), done);
    // Stopped, the disk emptied, and gone on with.
    if (done < kFrames) {
      EXPECT_THROW(run.append(stream_frame_of_run(done + 2)), Error);
    }
    run.finish(RunState::stopped, "the disk is full", {});
    EXPECT_EQ(read_stream_run(folder).manifest["stopped_because"], "the disk is full");
    run = StreamRun::create(scratch_folder() / "other", setup_of());  // lets the lock go
    StreamRun resumed = StreamRun::resume(folder, setup_of());
    run_to_end(resumed);
    EXPECT_EQ(contents_of(folder), wanted) << limit;
  }
  EXPECT_GT(refused, 5);
}

TEST(StreamRun, RefusesOtherSettingsAndOtherOrder) {
  const fs::path folder = whole_run();
  StreamRunSetup other = setup_of();
  other.outputs.cloud_options.confidence_threshold = 2;
  EXPECT_EQ(refusal_of([&] { StreamRun::resume(folder, other); }), Reason::run_mismatch);
  EXPECT_EQ(refusal_of([&] { StreamRun::create(folder, setup_of()); }), Reason::unwritable_output);
  StreamRun run = StreamRun::resume(folder, setup_of());
  EXPECT_EQ(refusal_of([&] { StreamRun::resume(folder, setup_of()); }),
            Reason::unwritable_output);  // the lock
  EXPECT_EQ(refusal_of([&] { run.append(stream_frame_of_run(kFrames)); }), Reason::internal);
  other.outputs.colmap_max_points = -1;
  EXPECT_EQ(refusal_of([&] { StreamRun::create(scratch_folder() / "x", other); }),
            Reason::bad_option);
  fs::remove(folder / "cloud.ply");
  run = StreamRun::create(scratch_folder() / "other", setup_of());
  EXPECT_EQ(refusal_of([&] { StreamRun::resume(folder, setup_of()); }), Reason::bad_run);
}

TEST(StreamRun, FramesWhosePointsAreLostAreMadeAgain) {
  const auto wanted = contents_of(whole_run());
  const fs::path folder = whole_run();
  fs::resize_file(folder / "cloud.ply", fs::file_size(folder / "cloud.ply") / 2);
  StreamRun resumed = StreamRun::resume(folder, setup_of());
  EXPECT_LT(std::ssize(resumed.recorded()), kFrames);
  EXPECT_GT(std::ssize(resumed.recorded()), 0);
  run_to_end(resumed);
  EXPECT_EQ(contents_of(folder), wanted);
}

TEST(StreamRun, PhotosOfOneStemKeepTheirOwnDepth) {
  const fs::path folder = scratch_folder() / "run";
  StreamRun run = StreamRun::create(folder, setup_of());
  for (const char* name : {"a.jpg", "a.png"}) {
    StreamFrame frame = stream_frame_of_run(std::ssize(run.recorded()) + 1);
    frame.name = name;
    frame.time_ns.reset();
    run.append(frame);
  }
  EXPECT_EQ(run.recorded()[0].view->depth->file, "depth/a.png");
  EXPECT_EQ(run.recorded()[1].view->depth->file, "depth/a.png.png");
  EXPECT_THAT(read_file(folder / "trajectory.tum"), HasSubstr("\n2.000000000 "));
}

TEST(StreamRun, WindowsOfEarlierPartsAreKept) {
  const fs::path folder = scratch_folder() / "run";
  const auto figures = [](int window, double scale) {
    StreamFigures result;
    result.windows.push_back({window, 8 * window, 8, -1, scale, {}, 10, 0.1, {}});
    return result;
  };
  {
    StreamRun run = StreamRun::create(folder, setup_of());
    run.append(stream_frame_of_run(1));
    run.finish(RunState::cancelled, "", figures(0, 1));
  }
  StreamRun run = StreamRun::resume(folder, setup_of());
  run.finish(RunState::finished, "", figures(1, 2.5), {{"peak_mib", 7}});
  const Json manifest = read_stream_run(folder).manifest;
  ASSERT_EQ(manifest["windows"].size(), 2u);
  EXPECT_EQ(manifest["windows"][1]["scale"], 2.5);
  EXPECT_EQ(manifest["windows"][1]["centre_residual"], 0.1);
  EXPECT_TRUE(manifest["windows"][1]["depth_residual"].is_null());
  EXPECT_EQ(manifest["memory"]["peak_mib"], 7);
}

}  // namespace
}  // namespace skyfix
