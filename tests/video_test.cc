// `skyfix localize` on videos and pipes, as a user types it.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "real_data.h"
#include "simulated.h"
#include "skyfix/base/file.h"

namespace skyfix::testing {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

bool have_ffmpeg() {
  const bool found = std::system("ffmpeg -version >/dev/null 2>&1") == 0;
  const char* ci = std::getenv("CI");
  EXPECT_FALSE(!found && ci != nullptr && std::string(ci) == "true") << "ffmpeg is missing";
  return found;
}
#define REQUIRE_FFMPEG() \
  if (!have_ffmpeg()) GTEST_SKIP() << "NOT TESTED: there is no ffmpeg to make videos"

int shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

// A video of ten frames a second.
void make_video(const std::vector<fs::path>& photos, const fs::path& file,
                const std::string& arguments = "-c:v libx264 -crf 12 -pix_fmt yuv420p") {
  const fs::path links = file.string() + ".frames";
  fs::create_directories(links);
  for (std::size_t i = 0; i < photos.size(); ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "%04zu.jpg", i);
    fs::create_symlink(fs::absolute(photos[i]), links / name);
  }
  ASSERT_EQ(shell("ffmpeg -v error -y -framerate 10 -i " + quoted(links / "%04d.jpg") + " " +
                  arguments + " " + quoted(file)),
            0);
  fs::remove_all(links);
}

std::vector<fs::path> simulated_photos() {
  std::vector<fs::path> photos;
  for (const auto& entry : fs::directory_iterator(SimulatedWorld::instance().queries)) {
    photos.push_back(entry.path());
  }
  std::sort(photos.begin(), photos.end());
  return photos;
}

std::vector<std::string> localize(const fs::path& input, const fs::path& run,
                                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "localize", "--map", SimulatedWorld::instance().map, "--input", input, "--out", run};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<json> records_of(const fs::path& run) {
  std::vector<json> records;
  std::ifstream file(run / "records.jsonl");
  for (std::string line; std::getline(file, line);) records.push_back(json::parse(line));
  return records;
}

int count_ok(const std::vector<json>& records) {
  return static_cast<int>(std::count_if(records.begin(), records.end(), [](const json& record) {
    return record.at("status") == "ok";
  }));
}

// The frames of the walk as a video give the fixes that they give as photos.
TEST(Video, UniversityFramesAsMp4) {
  SKYFIX_REQUIRE_SHARED("data/university");
  REQUIRE_FFMPEG();
  const Scratch scratch;
  const fs::path data = shared_folder() / "data/university";
  json reference = json::parse(read_file(data / "reference.json"));
  std::vector<fs::path> photos;
  json renamed;
  for (const auto& [name, query] : reference["queries"].items()) {
    photos.push_back(data / "images" / name);
    char frame[32];
    std::snprintf(frame, sizeof frame, "walk.mp4#%06zu", photos.size());
    renamed[frame] = query;
  }
  ASSERT_EQ(photos.size(), 23u);
  reference["queries"] = renamed;
  write_file_atomic(scratch / "reference.json", reference.dump());
  make_video(photos, scratch / "walk.mp4");
  const json result = localize_and_evaluate(university_map(), scratch / "walk.mp4",
                                            scratch / "reference.json", scratch / "run");
  EXPECT_EQ(result.at("frames"), 23);
  EXPECT_GE(result.at("ok").get<int>(), 22);
  EXPECT_LE(result.at("position_rmse_percent").get<double>(), 0.15);
  const auto records = records_of(scratch / "run");
  ASSERT_EQ(records.size(), 23u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].at("index"), i + 1);
    EXPECT_EQ(records[i].at("time_ns"), i * 100'000'000);
    EXPECT_FALSE(records[i].at("telemetry").contains("latency_ms"));
  }
}

TEST(Video, RangeStrideAndSideFile) {
  REQUIRE_FFMPEG();
  const Scratch scratch;
  make_video(simulated_photos(), scratch / "DJI_0001.MP4");
  const Outcome listed = skyfix(
      localize(scratch / "DJI_0001.MP4", "", {"--dry-run", "--fps", "5", "--query-start", "2"}));
  EXPECT_EQ(listed.out,
            "2\tDJI_0001.MP4#000002\n4\tDJI_0001.MP4#000004\n6\tDJI_0001.MP4#000006\n"
            "8\tDJI_0001.MP4#000008\n");
  const Outcome done =
      skyfix(localize(scratch / "DJI_0001.MP4", scratch / "run", {"--stride", "3"}));
  ASSERT_EQ(done.status, 0) << done.err;
  const auto records = records_of(scratch / "run");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].at("name"), "DJI_0001.MP4#000004");
  EXPECT_EQ(records[1].at("time_ns"), 300'000'000);
  EXPECT_EQ(count_ok(records), 3);
  EXPECT_TRUE(fs::exists(scratch / "run/frames/DJI_0001.MP4#000004.json"));
  // A side file far from the truth: its position is compared with the fix, and warned of.
  write_file_atomic(scratch / "DJI_0001.SRT",
                    "1\n00:00:00,000 --> 00:00:09,000\n[latitude: 46.9] [longitude: -91.99] "
                    "[rel_alt: 90.0 abs_alt: 290.0]\n");
  ASSERT_EQ(
      skyfix(localize(scratch / "DJI_0001.MP4", scratch / "far", {"--query-end", "1"})).status, 0);
  EXPECT_THAT(records_of(scratch / "far").at(0).at("warnings").dump(), HasSubstr("GPS"));
}

TEST(Video, ResumedEqualsWhole) {
  REQUIRE_FFMPEG();
  const Scratch scratch;
  const auto video = scratch / "clip.mp4";
  make_video(simulated_photos(), video);
  ASSERT_EQ(skyfix(localize(video, scratch / "whole", {"--ba-window", "2"})).status, 0);
  ASSERT_EQ(skyfix(localize(video, scratch / "run", {"--ba-window", "2"})).status, 0);
  // As if killed after the third frame.
  std::string lines = read_file(scratch / "run/records.jsonl");
  std::size_t end = 0;
  for (int i = 0; i < 3; ++i) end = lines.find('\n', end) + 1;
  write_file_atomic(scratch / "run/records.jsonl", lines.substr(0, end + 20));
  const Outcome resumed =
      skyfix(localize(video, scratch / "run", {"--ba-window", "2", "--resume"}));
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(skyfix({"records", "--canonical", scratch / "run"}).out,
            skyfix({"records", "--canonical", scratch / "whole"}).out);
  const Outcome other =
      skyfix(localize(video, scratch / "run", {"--ba-window", "2", "--resume", "--stride", "2"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("source_sha256"));
}

TEST(Video, ATurnedVideoIsShownUpright) {
  REQUIRE_FFMPEG();
  const Scratch scratch;
  make_video(simulated_photos(), scratch / "plain.mp4");
  // Held sideways: the pictures are stored turned, and the file says how to show them.
  ASSERT_EQ(shell("ffmpeg -v error -i " + quoted(scratch / "plain.mp4") +
                  " -vf transpose=1 -c:v libx264 -crf 12 " + quoted(scratch / "sideways.mp4")),
            0);
  ASSERT_EQ(shell("ffmpeg -v error -i " + quoted(scratch / "sideways.mp4") +
                  " -c copy -metadata:s:v:0 rotate=90 " + quoted(scratch / "turned.mp4")),
            0);
  ASSERT_EQ(skyfix(localize(scratch / "turned.mp4", scratch / "run", {"--query-end", "2"})).status,
            0);
  const auto records = records_of(scratch / "run");
  EXPECT_EQ(count_ok(records), 2);
  for (const json& record : records) {
    EXPECT_EQ(record.at("turn"), 0);
    EXPECT_EQ(record.at("camera_source"), "map_camera") << record;
  }
}

TEST(Video, DamagedAndFalseOnes) {
  REQUIRE_FFMPEG();
  const Scratch scratch;
  make_video(simulated_photos(), scratch / "whole.mp4",
             "-c:v libx264 -crf 12 -pix_fmt yuv420p -g 1 -movflags +faststart");
  const std::string bytes = read_file(scratch / "whole.mp4");
  write_file_atomic(scratch / "cut.mp4", bytes.substr(0, bytes.size() * 3 / 4));
  const Outcome cut = skyfix(localize(scratch / "cut.mp4", scratch / "cut_run"));
  EXPECT_EQ(cut.status, 0) << cut.err;
  EXPECT_THAT(cut.err, HasSubstr("could not be read"));
  const auto records = records_of(scratch / "cut_run");
  ASSERT_GE(records.size(), 4u);
  EXPECT_GE(count_ok(records), 4);
  EXPECT_EQ(records.back().at("status"), "failed");
  EXPECT_EQ(records.back().at("reason"), "corrupt_image");
  EXPECT_EQ(json::parse(read_file(scratch / "cut_run/run.json")).at("state"), "finished");

  write_file_atomic(scratch / "text.mp4", "no video\n");
  const Outcome text = skyfix(localize(scratch / "text.mp4", scratch / "text_run"));
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.err, HasSubstr("no video"));
  EXPECT_FALSE(fs::exists(scratch / "text_run"));
  const Outcome beyond =
      skyfix(localize(scratch / "whole.mp4", scratch / "beyond", {"--query-start", "100"}));
  EXPECT_EQ(beyond.status, 2);
  EXPECT_THAT(beyond.err, HasSubstr("8 frames"));
}

TEST(Video, WithoutFfmpegPhotosStillWork) {
  const Scratch scratch;
  const std::string without = "SKYFIX_VIDEO_LIBRARY=/nowhere/libskyfix_video.so ";
  write_file_atomic(scratch / "clip.mp4", "x");
  const std::string command = without + SKYFIX_BINARY + " localize --dry-run --map none --input ";
  EXPECT_EQ(shell(command + quoted(scratch / "clip.mp4") + " 2>" + quoted(scratch / "err")), 2);
  EXPECT_THAT(read_file(scratch / "err"), HasSubstr("no video part"));
  EXPECT_EQ(shell(command + quoted(SimulatedWorld::instance().queries) + " >/dev/null"), 0);
}

TEST(Live, APipeOfJpegs) {
  const Scratch scratch;
  std::string pipe = "cat";
  for (const fs::path& photo : simulated_photos()) pipe += " " + quoted(photo);
  pipe += " | " + std::string(SKYFIX_BINARY) + " localize --map " +
          quoted(SimulatedWorld::instance().map) +
          " --input - --drop-policy block --query-end 5 --out " + quoted(scratch / "run") +
          " >/dev/null 2>" + quoted(scratch / "err");
  ASSERT_EQ(shell(pipe), 0) << read_file(scratch / "err");
  const auto records = records_of(scratch / "run");
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(count_ok(records), 5);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].at("name"), "stdin#00000" + std::to_string(i + 1));
    EXPECT_GT(records[i].at("telemetry").at("latency_ms").get<double>(), 0);
    EXPECT_GE(records[i].at("time_ns").get<std::int64_t>(), 0);
  }
  EXPECT_EQ(json::parse(read_file(scratch / "run/run.json")).at("state"), "finished");
}

TEST(Live, WhatIsRefused) {
  const Scratch scratch;
  const Outcome resumed = skyfix(localize("-", scratch / "run", {"--resume"}));
  EXPECT_EQ(resumed.status, 2);
  EXPECT_THAT(resumed.err, HasSubstr("--resume"));
  EXPECT_EQ(skyfix(localize("-", scratch / "run", {"--pipe-format", "gif"})).status, 2);
  EXPECT_EQ(skyfix(localize("-", scratch / "run", {"--fps", "3"})).status, 2);
  EXPECT_EQ(skyfix(localize("-", "", {"--dry-run"})).status, 2);
  EXPECT_EQ(skyfix(localize("-", scratch / "run", {"--drop-policy", "newest"})).status, 2);
  EXPECT_FALSE(fs::exists(scratch / "run"));
}

}  // namespace
}  // namespace skyfix::testing
