// Video frames without EXIF, hand-held, against a map of 22 frames; and frames of another place.
#include <gmock/gmock.h>

#include <fstream>

#include "real_data.h"
#include "skyfix/base/file.h"

namespace skyfix::testing {
namespace {
using nlohmann::json;

void write_list(const std::filesystem::path& file, int first, int last, int step) {
  std::string text;
  for (int frame = first; frame <= last; frame += step) {
    char name[32];
    std::snprintf(name, sizeof(name), "%06d.jpg", frame);
    text += (shared_folder() / "data/university/images" / name).string() + "\n";
  }
  write_file_atomic(file, text);
}

TEST(University, TwentyTwoOfTwentyThree) {
  SKYFIX_REQUIRE_SHARED("data/university");
  const Scratch scratch;
  write_list(scratch / "queries.txt", 206, 294, 4);
  const json result =
      localize_and_evaluate(university_map(), scratch / "queries.txt",
                            shared_folder() / "data/university/reference.json", scratch / "run");
  EXPECT_EQ(result.at("frames"), 23);
  EXPECT_GE(result.at("ok").get<int>(), 22);
  EXPECT_LE(result.at("position_rmse_percent").get<double>(), 0.10);
}

TEST(University, AnotherPartOfTheCampusIsNeverOk) {
  SKYFIX_REQUIRE_SHARED("data/university");
  const Scratch scratch;
  write_list(scratch / "elsewhere.txt", 0, 100, 1);
  const Outcome outcome =
      skyfix({"localize", "--map", university_map(), "--input", scratch / "elsewhere.txt", "--out",
              scratch / "run", "--descriptor-cache", "off"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::ifstream records(scratch / "run/records.jsonl");
  int count = 0;
  for (std::string line; std::getline(records, line); ++count) {
    const json record = json::parse(line);
    EXPECT_NE(record.at("status"), "ok") << line;
    EXPECT_TRUE(record.at("cam_from_world").is_null());
    EXPECT_FALSE(record.at("reason").is_null());
  }
  EXPECT_EQ(count, 101);
}

// Neither set shows the other's place: nothing may come back ok.
TEST(CrossScene, NoPlaceIsTakenForAnother) {
  SKYFIX_REQUIRE_SHARED("data/brighton");
  SKYFIX_REQUIRE_SHARED("data/university");
  const Scratch scratch;
  write_list(scratch / "walk.txt", 0, 323, 10);
  // Cameras are given, so that the aspect does not settle it before the matching.
  write_file_atomic(scratch / "walk_camera.txt", "1 SIMPLE_PINHOLE 518 294 379 259 147\n");
  write_file_atomic(scratch / "drone_camera.txt", "1 SIMPLE_PINHOLE 1600 900 924 800 450\n");
  const std::vector<std::vector<std::string>> runs = {
      {"--map", brighton_map(), "--input", scratch / "walk.txt", "--cameras",
       scratch / "walk_camera.txt"},
      {"--map", university_map(), "--input", shared_folder() / "data/brighton/images", "--cameras",
       scratch / "drone_camera.txt"}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> arguments = {
        "localize", "--out", scratch / ("run" + std::to_string(i)), "--descriptor-cache", "off"};
    arguments.insert(arguments.end(), runs[i].begin(), runs[i].end());
    const Outcome outcome = skyfix(arguments);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json manifest =
        json::parse(read_file(scratch / ("run" + std::to_string(i)) / "run.json"));
    EXPECT_EQ(manifest.at("counts").value("ok", 0), 0) << manifest.at("counts");
    EXPECT_GT(manifest.at("counts").at("frames").get<int>(), 10);
  }
}

}  // namespace
}  // namespace skyfix::testing
