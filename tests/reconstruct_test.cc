// Streaming reconstruction as a user types it, with the tiny network and real video frames.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "process.h"
#include "skyfix/base/file.h"
#include "skyfix/image/image.h"

namespace skyfix::testing {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The same options for every run here: quick, and with everything in it that a long one has.
std::vector<std::string> reconstruct(const fs::path& input, const fs::path& out,
                                     const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"reconstruct",
                                     "--weights",
                                     "synthetic:tiny",
                                     "--device",
                                     "cpu",
                                     "--input",
                                     input.string(),
                                     "--out",
                                     out.string(),
                                     "--image-size",
                                     "112",
                                     "--num-scale-frames",
                                     "3",
                                     "--window",
                                     "4"};
  for (std::size_t i = 0; i < more.size(); ++i) {
    // An option that is there already takes the new value.
    const auto found = std::find(arguments.begin(), arguments.end(), more[i]);
    if (found == arguments.end() || !more[i].starts_with("--")) {
      arguments.push_back(more[i]);
    } else {
      *(found + 1) = more[++i];
    }
  }
  return arguments;
}

// A folder of small pictures that move to the right.
Image made_frame(int width, int height, int shift) {
  Image image{width, height, 3, {}};
  image.pixels.resize(std::size_t(width) * height * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width * 3; ++x) {
      image.row(y)[x] = static_cast<std::uint8_t>((x / 3 + shift) * (x % 3 + 1) + 2 * y);
    }
  }
  return image;
}

fs::path frames_in(const fs::path& folder, int count, int width = 160, int height = 120) {
  fs::create_directories(folder);
  for (int i = 0; i < count; ++i) {
    char name[32];
    std::snprintf(name, sizeof(name), "%04d.png", i);
    write_png(folder / name, made_frame(width, height, 3 * i));
  }
  return folder;
}

std::vector<json> records_of(const fs::path& run) {
  std::ifstream file(run / "records.jsonl");
  std::vector<json> records;
  for (std::string line; std::getline(file, line);) records.push_back(json::parse(line));
  return records;
}

std::string canonical_lines(const fs::path& run) {
  const Outcome outcome = skyfix({"records", run.string(), "--canonical"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return outcome.out;
}

TEST(Reconstruct, EveryFrameHasARecordAndTheFilesThatGoWithIt) {
  const Scratch scratch;
  const Outcome outcome = skyfix(reconstruct(frames_in(scratch / "frames", 10), scratch / "run",
                                             {"--depth", "png", "--conf-threshold", "1"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("arbitrary"));
  const auto records = records_of(scratch / "run");
  ASSERT_EQ(records.size(), 10u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].at("index"), i + 1);
    EXPECT_EQ(records[i].at("status"), "ok") << records[i];
    EXPECT_EQ(records[i].at("units"), "arbitrary");
    EXPECT_EQ(records[i].at("camera").at("width"), 160);
    EXPECT_EQ(records[i].at("camera").at("height"), 120);
    EXPECT_TRUE(records[i].at("cam_from_world").is_object());
  }
  EXPECT_EQ(records[0].at("role"), "scale");
  EXPECT_EQ(records[3].at("role"), "keyframe");
  for (const char* file : {"run.json", "trajectory.tum", "cloud.ply", "cloud.json"}) {
    EXPECT_TRUE(fs::exists(scratch / "run" / file)) << file;
  }
  EXPECT_TRUE(fs::exists(scratch / "run/depth/0000.png"));
  EXPECT_TRUE(fs::exists(scratch / "run/sparse/0"));
}

TEST(Reconstruct, OneFrameWillDoAndNoneIsRefused) {
  const Scratch scratch;
  const Outcome one = skyfix(reconstruct(frames_in(scratch / "one", 1), scratch / "run"));
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(records_of(scratch / "run").size(), 1u);
  fs::create_directories(scratch / "none");
  const Outcome none = skyfix(reconstruct(scratch / "none", scratch / "run0"));
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("no_input"));
}

TEST(Reconstruct, PortraitSquareAndDamagedFramesAreTakenAsTheyCome) {
  const Scratch scratch;
  for (const auto& [width, height] : {std::pair(120, 160), std::pair(128, 128)}) {
    const std::string name = std::to_string(height);
    const Outcome outcome =
        skyfix(reconstruct(frames_in(scratch / name, 5, width, height), scratch / (name + "run")));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(records_of(scratch / (name + "run")).size(), 5u);
  }
  const fs::path mixed = frames_in(scratch / "mixed", 6);
  write_png(mixed / "0002.png", made_frame(90, 160, 0));
  write_file_atomic(mixed / "0004.png", "no picture");
  const Outcome outcome = skyfix(reconstruct(mixed, scratch / "run"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto records = records_of(scratch / "run");
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[4].at("status"), "failed");
  EXPECT_EQ(records[4].at("reason"), "not_an_image");
  EXPECT_EQ(records[5].at("status"), "ok");
  EXPECT_EQ(skyfix(reconstruct(mixed, scratch / "strict", {"--strict"})).status, 1);
}

TEST(Reconstruct, ACutRunGoesOnToTheSameBytes) {
  const Scratch scratch;
  const fs::path frames = frames_in(scratch / "frames", 14);
  ASSERT_EQ(skyfix(reconstruct(frames, scratch / "whole")).status, 0);
  for (const char* checkpoints : {"0", "4"}) {
    const fs::path run = scratch / (std::string("cut") + checkpoints);
    auto arguments = reconstruct(frames, run, {"--checkpoint-every", checkpoints});
    skyfix_killed_after(arguments, 500);
    if (!fs::exists(run / "run.json")) continue;  // killed before it began
    arguments.push_back("--resume");
    const Outcome resumed = skyfix(arguments);
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(canonical_lines(run), canonical_lines(scratch / "whole"));
    for (const char* file : {"trajectory.tum", "cloud.ply"}) {
      EXPECT_EQ(read_file(run / file), read_file(scratch / "whole" / file)) << file;
    }
  }
}

TEST(Reconstruct, TheReferenceToolsFlagsAreUnderstood) {
  const Scratch scratch;
  std::vector<std::string> arguments{"reconstruct",
                                     "--model_path",
                                     "synthetic:tiny",
                                     "--device",
                                     "cpu",
                                     "--image_folder",
                                     frames_in(scratch / "frames", 6).string(),
                                     "--out",
                                     (scratch / "run").string(),
                                     "--image_size",
                                     "112",
                                     "--num_scale_frames",
                                     "2",
                                     "--kv_cache_sliding_window",
                                     "3",
                                     "--keyframe_interval",
                                     "2",
                                     "--offload_to_cpu",
                                     "--compile"};
  const Outcome outcome = skyfix(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(records_of(scratch / "run").at(3).at("role"), "non_keyframe");
}

TEST(Reconstruct, WindowsAreLaidOnOneAnotherWithAResidual) {
  const Scratch scratch;
  const fs::path frames = frames_in(scratch / "frames", 14);
  const Outcome outcome =
      skyfix(reconstruct(frames, scratch / "run",
                         {"--mode", "windowed", "--window-size", "6", "--overlap-size", "3"}));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto records = records_of(scratch / "run");
  ASSERT_EQ(records.size(), 14u);
  EXPECT_GT(records.back().at("window").get<int>(), 0);
  const json manifest = json::parse(read_file(scratch / "run/run.json"));
  ASSERT_GT(manifest.at("windows").size(), 1u);
  EXPECT_TRUE(manifest.at("windows")[1].at("depth_residual").is_number());
  const Outcome refused = skyfix(reconstruct(
      frames, scratch / "no", {"--mode", "windowed", "--window-size", "4", "--overlap-size", "4"}));
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--overlap-size"));
}

TEST(Reconstruct, WhatCannotBeIsRefusedBeforeAnythingIsWritten) {
  const Scratch scratch;
  const fs::path frames = frames_in(scratch / "frames", 3);
  const auto refusal = [&](const std::vector<std::string>& more) {
    const Outcome outcome = skyfix(reconstruct(frames, scratch / "run", more));
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_FALSE(fs::exists(scratch / "run"));
    return outcome.err;
  };
  EXPECT_THAT(refusal({"--image-size", "100"}), HasSubstr("14"));
  EXPECT_THAT(refusal({"--precision", "int8"}), HasSubstr("--precision"));
  EXPECT_THAT(refusal({"--depth", "tiff"}), HasSubstr("--depth"));
  EXPECT_THAT(refusal({"--keyframe-interval", "0"}), HasSubstr("--keyframe-interval"));
  EXPECT_THAT(refusal({"--fit", "stretch"}), HasSubstr("--fit"));
  EXPECT_THAT(refusal({"--weights", "synthetic:small"}), HasSubstr("synthetic:tiny"));
  EXPECT_THAT(refusal({"--mask-dir", "nowhere"}), HasSubstr("--mask-dir"));
  EXPECT_THAT(refusal({"--mode", "windowed", "--window-size", "3"}), HasSubstr("--window-size"));
}

TEST(Reconstruct, AFinishedRunIsNotComputedAgain) {
  const Scratch scratch;
  const fs::path frames = frames_in(scratch / "frames", 5);
  ASSERT_EQ(skyfix(reconstruct(frames, scratch / "run")).status, 0);
  const std::string before = read_file(scratch / "run/records.jsonl");
  const Outcome again = skyfix(reconstruct(frames, scratch / "run", {"--resume"}));
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("every frame is recorded already"));
  EXPECT_EQ(read_file(scratch / "run/records.jsonl"), before);
}

// On a CPU the last digits differ with the threads: such a run is another.
TEST(Reconstruct, OtherThreadsAreNotMixedIntoARun) {
  const Scratch scratch;
  const fs::path frames = frames_in(scratch / "frames", 5);
  ASSERT_EQ(skyfix(reconstruct(frames, scratch / "run", {"--threads", "1"})).status, 0);
  const Outcome other =
      skyfix(reconstruct(frames, scratch / "run", {"--threads", "2", "--resume"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("threads"));
}

// A checkpoint of another model names itself instead of a wall of missing tensors.
TEST(Reconstruct, WeightsOfAnotherModelAreRefused) {
  const Scratch scratch;
  SKYFIX_REQUIRE_SHARED("goldens/dinov3");
  const fs::path other = shared_folder() / "goldens/dinov3/vitl16_synthetic.safetensors";
  std::vector<std::string> arguments{"reconstruct",
                                     "--weights",
                                     other.string(),
                                     "--device",
                                     "cpu",
                                     "--input",
                                     frames_in(scratch / "frames", 3).string(),
                                     "--out",
                                     (scratch / "run").string()};
  const Outcome outcome = skyfix(arguments);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("bad_weights"), HasSubstr("GCT")));
  EXPECT_LT(outcome.err.size(), 2000u);
}

// 324 frames of a real walk, every one of them.
TEST(Reconstruct, TheUniversityWalkRunsThrough) {
  SKYFIX_REQUIRE_SHARED("data/university");
  const Scratch scratch;
  const Outcome outcome =
      skyfix(reconstruct(shared_folder() / "data/university/images", scratch / "run"));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto records = records_of(scratch / "run");
  ASSERT_EQ(records.size(), 324u);
  std::size_t kept = 0;
  for (const json& record : records) {
    EXPECT_EQ(record.at("status"), "ok");
    kept += record.at("role") != "non_keyframe";
  }
  // 324 frames: every second one is kept after the first three.
  EXPECT_EQ(kept, 3u + (321u + 1) / 2);
  const Outcome evaluated = skyfix({"evaluate", "--run", (scratch / "run").string(), "--reference",
                                    (shared_folder() / "data/university/reference.json").string()});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_THAT(evaluated.out, HasSubstr("ATE"));
}

}  // namespace
}  // namespace skyfix::testing
