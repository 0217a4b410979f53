#include "skyfix/report/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "skyfix/base/file.h"
#include "skyfix/report/frame_path.h"
#include "skyfix/report/record_reader.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

namespace fs = std::filesystem;
using report_testing::sample_bad_fix;
using report_testing::sample_ok_fix;
using report_testing::scratch_folder;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<RunInput> kInputs = {
    {"a.jpg", 4}, {"sub/b c.jpg", 5}, {"\xFF.jpg", 6}, {"d.jpg", 7}};

RunSetup setup_of(std::vector<RunInput> inputs = kInputs) {
  RunSetup setup;
  setup.configuration = {{"map", "abc"}, {"options", {{"seed", 1}, {"limit", 15}}}};
  setup.about = {{"version", "0.1.0"}};
  setup.inputs = std::move(inputs);
  setup.host.host = "box";
  return setup;
}

// A frame's result depends on the last good fix before it, as in the real runner.
Record work_on(const RunInput& input, const std::vector<RecordedFix>& before) {
  Fix fix = sample_ok_fix(input.name, input.index);
  if (input.index % 3 == 0) {
    return {sample_bad_fix(input.name, input.index, FixStatus::failed, Reason::no_candidates), {}};
  }
  for (const RecordedFix& earlier : before) {
    if (earlier.ok) fix.pose->cam_from_world.translation = earlier.cam_from_world.translation / 3;
  }
  fix.telemetry.timing_ms["total"] = static_cast<double>(before.size());
  return {fix, {}};
}

void run_to_end(RunFolder& run, const RunSetup& setup, int pause_us = 0) {
  std::vector<RecordedFix> before = run.recorded_fixes();
  while (before.size() < setup.inputs.size()) {
    const Record record = work_on(setup.inputs[before.size()], before);
    run.append(record);
    const Fix& fix = record.fix;
    before.push_back({fix.name, fix.index, fix.pose.has_value(),
                      fix.pose ? fix.pose->cam_from_world : Rigid3{}});
    if (pause_us > 0) ::usleep(pause_us);
  }
  run.finish(RunState::finished);
}

fs::path finished_run(const RunSetup& setup = setup_of()) {
  const fs::path folder = scratch_folder() / "run";
  RunFolder run = RunFolder::create(folder, setup);
  run_to_end(run, setup);
  return folder;
}

Error refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Reason::internal, "nothing was refused");
}

// Frame files hold what records.jsonl holds, and nothing else lies about.
void expect_frame_files_fit(const fs::path& folder) {
  const RunContents run = read_run(folder);
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "frames")) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files, run.lines.size());
  for (std::size_t i = 0; i < run.lines.size(); ++i) {
    const fs::path file = folder / frame_record_path(kInputs[i].name);
    EXPECT_EQ(json_line(Json::parse(read_file(file))), run.lines[i]);
  }
}

TEST(RunFolder, WritesManifestLinesAndFrames) {
  const fs::path folder = finished_run();
  const RunContents run = read_run(folder);
  ASSERT_EQ(run.records.size(), 4u);
  EXPECT_EQ(run.records[1].fix.name, "sub/b c.jpg");
  EXPECT_EQ(run.records[2].fix.reason, Reason::no_candidates);
  EXPECT_EQ(run.manifest["schema"], "skyfix-run-1");
  EXPECT_EQ(run.manifest["state"], "finished");
  EXPECT_EQ(run.manifest["counts"]["ok"], 3);
  EXPECT_EQ(run.manifest["counts"]["failed"], 1);
  EXPECT_EQ(run.manifest["memory_failures"], 0);
  EXPECT_EQ(run.manifest["configuration"]["inputs"]["count"], 4);
  EXPECT_EQ(run.manifest["about"]["version"], "0.1.0");
  EXPECT_TRUE(fs::exists(folder / "frames/sub/b c.jpg.json"));
  expect_frame_files_fit(folder);
}

TEST(RunFolder, RefusesAnExistingRunAndForeignFiles) {
  const fs::path folder = finished_run();
  const Error again = refusal_of([&] { RunFolder::create(folder, setup_of()); });
  EXPECT_EQ(again.reason(), Reason::unwritable_output);
  EXPECT_THAT(again.message(), AllOf(HasSubstr("--resume"), HasSubstr("--out")));
  const fs::path photos = scratch_folder();
  std::ofstream(photos / "holiday.jpg") << "x";
  for (const auto open : {RunFolder::create, RunFolder::resume}) {
    const Error foreign = refusal_of([&] { open(photos, setup_of()); });
    EXPECT_EQ(foreign.reason(), Reason::unwritable_output);
    EXPECT_THAT(foreign.message(), HasSubstr("holiday.jpg"));
  }
  const Error a_file = refusal_of([&] { RunFolder::create(photos / "holiday.jpg", setup_of()); });
  EXPECT_EQ(a_file.reason(), Reason::unwritable_output);
}

TEST(RunFolder, RefusesOtherSettingsByNameAndValue) {
  const fs::path folder = finished_run();
  RunSetup other = setup_of();
  other.configuration["options"]["seed"] = 77;
  const Error seed = refusal_of([&] { RunFolder::resume(folder, other); });
  EXPECT_EQ(seed.reason(), Reason::run_mismatch);
  EXPECT_THAT(seed.message(), HasSubstr("options.seed: recorded 1, now 77"));
  auto inputs = kInputs;
  inputs.push_back({"e.jpg", 8});
  const Error more = refusal_of([&] { RunFolder::resume(folder, setup_of(inputs)); });
  EXPECT_EQ(more.reason(), Reason::run_mismatch);
  EXPECT_THAT(more.message(), HasSubstr("inputs.count: recorded 4, now 5"));
  RunSetup same = setup_of();
  same.about["version"] = "another";
  EXPECT_NO_THROW(RunFolder::resume(folder, same));
}

TEST(RunFolder, SaysWhyItStoppedUntilItGoesOn) {
  const RunSetup setup = setup_of();
  const fs::path folder = scratch_folder() / "run";
  RunFolder::create(folder, setup).finish(RunState::stopped, "the GPU fell off the bus");
  EXPECT_EQ(read_run(folder).manifest["state"], "stopped");
  EXPECT_EQ(read_run(folder).manifest["stopped_because"], "the GPU fell off the bus");
  RunFolder run = RunFolder::resume(folder, setup);
  EXPECT_TRUE(read_run(folder).manifest["stopped_because"].is_null());
  run_to_end(run, setup);
  EXPECT_TRUE(read_run(folder).manifest["stopped_because"].is_null());
}

TEST(RunFolder, PutsMemoryTogetherAcrossResuming) {
  RunSetup setup = setup_of();
  setup.memory_limits = {{"device", "cuda"}, {"cap_mib", 7000}};
  const fs::path folder = scratch_folder() / "run";
  Record first = work_on(kInputs[0], {});
  first.fix.telemetry.peaks = DevicePeaks{12, 13, 14, std::nullopt, {{"matcher", 12}}};
  first.fix.telemetry.memory_retries = 2;
  RunFolder::create(folder, setup).append(first);
  setup.memory_limits["cap_mib"] = 3000;
  RunFolder run = RunFolder::resume(folder, setup);
  run_to_end(run, setup);
  const Json memory = read_run(folder).manifest["memory"];
  EXPECT_EQ(memory["device"], "cuda");
  EXPECT_EQ(memory["cap_mib"], 3000);
  EXPECT_EQ(memory["gpu_peak_mib"], 12.0);
  EXPECT_EQ(memory["gpu_memory"]["by_owner_mib"]["matcher"], 12.0);
  EXPECT_EQ(memory["retries"], 2);
}

// The cause may be gone, and later frames build on earlier ones.
TEST(RunFolder, TakesFramesAgainFromTheFirstThatWantedMemory) {
  const RunSetup setup = setup_of();
  const std::string expected = canonical_records(finished_run(setup));
  const fs::path folder = scratch_folder() / "starved";
  {
    RunFolder run = RunFolder::create(folder, setup);
    run.append(work_on(setup.inputs[0], {}));
    for (std::size_t i = 1; i < setup.inputs.size(); ++i) {
      run.append({sample_bad_fix(setup.inputs[i].name, setup.inputs[i].index, FixStatus::failed,
                                 i == 1 ? Reason::out_of_memory : Reason::no_candidates),
                  {}});
    }
    EXPECT_EQ(run.counts().memory_failures(), 1);
    run.finish(RunState::finished);
  }
  {
    RunFolder run = RunFolder::resume(folder, setup);
    EXPECT_EQ(run.taken_again(), 3u);
    EXPECT_EQ(run.recorded().size(), 1u);
    EXPECT_FALSE(fs::exists(folder / frame_record_path(setup.inputs[1].name)));
    run_to_end(run, setup);
  }
  EXPECT_EQ(canonical_records(folder), expected);
  EXPECT_EQ(RunFolder::resume(folder, setup).taken_again(), 0u);
}

TEST(RunFolder, RefusesRecordsOutOfOrder) {
  const RunSetup setup = setup_of();
  RunFolder run = RunFolder::create(scratch_folder() / "run", setup);
  EXPECT_EQ(refusal_of([&] { run.append(work_on(kInputs[1], {})); }).reason(), Reason::internal);
  run.append(work_on(kInputs[0], {}));
  EXPECT_EQ(refusal_of([&] { run.append(work_on(kInputs[0], {})); }).reason(), Reason::internal);
  EXPECT_EQ(refusal_of([&] { run.finish(RunState::finished); }).reason(), Reason::internal);
  EXPECT_NO_THROW(run.finish(RunState::cancelled));

  const fs::path folder = finished_run();
  const auto lines = read_run(folder).lines;
  write_file_atomic(folder / "records.jsonl", lines[0] + "\n" + lines[2] + "\n" + lines[1] + "\n");
  EXPECT_EQ(refusal_of([&] { RunFolder::resume(folder, setup); }).reason(), Reason::bad_run);
  EXPECT_EQ(refusal_of([&] { read_run(folder); }).reason(), Reason::bad_run);
}

TEST(RunFolder, RefusesADamagedMiddle) {
  const fs::path folder = finished_run();
  const auto lines = read_run(folder).lines;
  write_file_atomic(folder / "records.jsonl", lines[0] + "\n{\"schema\":\n" + lines[2] + "\n");
  const Error damaged = refusal_of([&] { RunFolder::resume(folder, setup_of()); });
  EXPECT_EQ(damaged.reason(), Reason::bad_run);
  EXPECT_THAT(damaged.message(), HasSubstr("line 2"));
}

TEST(RunFolder, OneWriterOnly) {
  const fs::path folder = scratch_folder() / "run";
  const RunFolder run = RunFolder::create(folder, setup_of());
  const Error busy = refusal_of([&] { RunFolder::resume(folder, setup_of()); });
  EXPECT_EQ(busy.reason(), Reason::unwritable_output);
  EXPECT_THAT(busy.message(), HasSubstr("another process"));
}

TEST(RunFolder, GivesRecordedPosesBackExactly) {
  const RunSetup setup = setup_of();
  const fs::path folder = finished_run(setup);
  const RunFolder run = RunFolder::resume(folder, setup);
  const std::vector<RecordedFix> fixes = run.recorded_fixes();
  ASSERT_EQ(fixes.size(), 4u);
  EXPECT_EQ(fixes[2].name, "\xFF.jpg");  // the input's own bytes
  EXPECT_FALSE(fixes[2].ok);
  EXPECT_EQ(fixes[0].index, 4);
  EXPECT_EQ(fixes[0].cam_from_world.translation,
            sample_ok_fix("a.jpg", 4).pose->cam_from_world.translation);
  EXPECT_EQ(run.recorded()[0].fix.image_width, 1600);
  EXPECT_TRUE(run.recorded()[0].fix.camera.has_value());
}

TEST(RunFolder, ACutAnywhereIsMadeGood) {
  const RunSetup setup = setup_of();
  const fs::path whole = finished_run(setup);
  const std::string wanted = canonical_records(whole);
  const std::string records = read_file(whole / "records.jsonl");
  // Every byte around the line ends, a sample of the rest.
  for (std::size_t cut = 0; cut <= records.size(); ++cut) {
    const bool near_line_end =
        records.substr(cut > 2 ? cut - 2 : 0, 5).find('\n') != std::string::npos;
    if (cut % 211 != 0 && !near_line_end) continue;
    const fs::path folder = scratch_folder() / "run";
    fs::copy(whole, folder, fs::copy_options::recursive);
    fs::resize_file(folder / "records.jsonl", cut);
    if (cut % 2 == 0) fs::remove(folder / "frames/a.jpg.json");
    if (cut % 3 == 0) fs::resize_file(folder / "frames/d.jpg.json", 10);
    std::ofstream(folder / "frames/d.jpg.json.partial-12-0") << "{";
    {
      RunFolder run = RunFolder::resume(folder, setup);
      run_to_end(run, setup);
    }
    ASSERT_TRUE(canonical_records(folder) == wanted) << "cut after " << cut << " bytes";
    expect_frame_files_fit(folder);
    EXPECT_EQ(read_run(folder).manifest["counts"], read_run(whole).manifest["counts"]);
    fs::remove_all(folder);
  }
}

TEST(RunFolder, ResumesFromEveryStateOfTheBeginning) {
  const RunSetup setup = setup_of();
  const std::string wanted = canonical_records(finished_run(setup));
  const auto expect_resumed = [&](const fs::path& folder) {
    RunFolder run = RunFolder::resume(folder, setup);
    run_to_end(run, setup);
    EXPECT_TRUE(canonical_records(folder) == wanted);
  };
  expect_resumed(scratch_folder() / "not there");
  expect_resumed(scratch_folder());
  const fs::path leftover = scratch_folder();
  std::ofstream(leftover / "run.json.partial-77-0") << "{";
  expect_resumed(leftover);
  EXPECT_FALSE(fs::exists(leftover / "run.json.partial-77-0"));
  const fs::path manifest_only = scratch_folder() / "run";
  { RunFolder::create(manifest_only, setup); }
  fs::remove(manifest_only / "records.jsonl");
  EXPECT_TRUE(read_run(manifest_only).records.empty());
  expect_resumed(manifest_only);
  const fs::path zeros = scratch_folder() / "run";  // power lost: the size is there, the bytes not
  { RunFolder::create(zeros, setup).append(work_on(setup.inputs[0], {})); }
  std::ofstream(zeros / "records.jsonl", std::ios::app) << std::string(100, '\0') << "\n";
  expect_resumed(zeros);
}

TEST(RunFolder, KilledAtRandomMomentsAndResumedIsTheSame) {
  std::vector<RunInput> inputs;
  for (int i = 1; i <= 25; ++i) inputs.push_back({"f/" + std::to_string(i) + ".jpg", i});
  const RunSetup setup = setup_of(inputs);
  const std::string wanted = canonical_records(finished_run(setup));
  const fs::path folder = scratch_folder() / "run";
  unsigned random = 12345;
  int kills = 0;
  for (bool finished = false; !finished && kills < 500;) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        RunFolder run = RunFolder::resume(folder, setup);
        run_to_end(run, setup, 1000);
      } catch (const std::exception&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    random = random * 1664525u + 1013904223u;
    // The window grows, so that a slow machine gets to the end as well.
    ::usleep(1000 + (random >> 8) % (10000 + 1000 * kills));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    finished = WIFEXITED(status);
    if (finished) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    } else {
      ++kills;
    }
  }
  EXPECT_GT(kills, 0);
  EXPECT_TRUE(canonical_records(folder) == wanted);
  EXPECT_EQ(read_run(folder).manifest["state"], "finished");
}

// Videos and what is live: nobody knows before what will come.
TEST(RunFolder, UnknownInputsAreRecordedAsTheyCome) {
  const auto folder = scratch_folder();
  RunSetup setup = setup_of({});
  setup.inputs_known = false;
  const RunInput frames[] = {
      {"clip.mp4#000002", 2}, {"clip.mp4#000004", 4}, {"clip.mp4#000008", 8}};
  {
    RunFolder run = RunFolder::create(folder, setup);
    run.append(work_on(frames[0], {}));
    run.append(work_on(frames[1], {}));
    EXPECT_EQ(refusal_of([&] { run.append(work_on(frames[0], {})); }).reason(), Reason::internal);
  }
  {
    RunFolder run = RunFolder::resume(folder, setup);
    ASSERT_EQ(run.recorded().size(), 2u);
    EXPECT_EQ(run.recorded()[1].fix.name, "clip.mp4#000004");
    EXPECT_EQ(refusal_of([&] { run.append(work_on(frames[1], {})); }).reason(), Reason::internal);
    run.append(work_on(frames[2], {}));
    run.finish(RunState::finished);
  }
  const RunContents contents = read_run(folder);
  EXPECT_EQ(contents.records.size(), 3u);
  EXPECT_TRUE(contents.manifest["configuration"]["inputs"].is_null());
  EXPECT_TRUE(fs::exists(folder / frame_record_path("clip.mp4#000008")));
  EXPECT_EQ(refusal_of([&] { RunFolder::resume(folder, setup_of()); }).reason(),
            Reason::run_mismatch);
}

}  // namespace
}  // namespace skyfix
