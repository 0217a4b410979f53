// Bad input gives a clear error, or a record with a reason; nothing already written is lost.
#include <gmock/gmock.h>
#include <png.h>

#include <nlohmann/json.hpp>

#include "process.h"
#include "simulated.h"
#include "skyfix/base/file.h"
#include "skyfix/image/image.h"

namespace skyfix::testing {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

Outcome localize(const fs::path& input, const fs::path& run,
                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "localize", "--map", SimulatedWorld::instance().map, "--input", input,
      "--out",    run,     "--descriptor-cache",           "off"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return skyfix(arguments);
}

// A clean refusal: status 2, one message, no stack trace, no record folder left behind.
void expect_refused(const Outcome& outcome, const std::string& says) {
  EXPECT_EQ(outcome.status, 2) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(says));
  EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("fault of the program")));
}

json record_of(const fs::path& run, const std::string& name) {
  return json::parse(read_file(run / "frames" / (name + ".json")));
}

void write_png_16(const fs::path& file, int width, int height) {
  std::FILE* out = std::fopen(file.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, out);
  png_set_IHDR(png, info, width, height, 16, PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  std::vector<unsigned char> row(2 * static_cast<std::size_t>(width));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) row[2 * x] = static_cast<unsigned char>((x * y) & 255);
    png_write_row(png, row.data());
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(out);
}

TEST(BadInput, EveryBadPhotoGetsARecordAndTheRunGoesOn) {
  const Scratch scratch;
  const fs::path photos = scratch / "photos";
  const fs::path good = SimulatedWorld::instance().queries;
  fs::create_directories(photos);
  const fs::path first = fs::directory_iterator(good)->path();
  fs::copy_file(first, photos / "good.jpg");
  write_file_atomic(photos / "text.jpg", "this is not a picture\n");
  const std::string bytes = read_file(first);
  write_file_atomic(photos / "cut.jpg", bytes.substr(0, bytes.size() / 2));
  write_png(photos / "one.png", Image{1, 1, 1, {128}});
  write_png_16(photos / "deep.png", 600, 400);
  write_png(photos / "square.png", Image{500, 500, 1, std::vector<std::uint8_t>(250000, 90)});
  write_png(photos / "black.png", Image{600, 400, 1, std::vector<std::uint8_t>(240000, 0)});
  fs::create_symlink(photos / "nowhere", photos / "dangling.jpg");
  write_file_atomic(photos / "empty.jpg", "");

  const Outcome outcome = localize(photos, scratch / "run");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const fs::path run = scratch / "run";
  EXPECT_EQ(record_of(run, "good.jpg").at("status"), "ok");
  EXPECT_EQ(record_of(run, "text.jpg").at("reason"), "not_an_image");
  EXPECT_EQ(record_of(run, "cut.jpg").at("reason"), "corrupt_image");
  EXPECT_EQ(record_of(run, "one.png").at("reason"), "image_too_small");
  EXPECT_NE(record_of(run, "deep.png").at("status"), "ok");
  EXPECT_EQ(record_of(run, "square.png").at("reason"), "camera_mismatch");
  EXPECT_EQ(record_of(run, "square.png").at("status"), "rejected");
  EXPECT_EQ(record_of(run, "black.png").at("reason"), "no_features");
  EXPECT_EQ(record_of(run, "dangling.jpg").at("reason"), "unreadable_file");
  EXPECT_EQ(record_of(run, "empty.jpg").at("reason"), "corrupt_image");
  const json manifest = json::parse(read_file(run / "run.json"));
  EXPECT_EQ(manifest.at("counts").at("frames"), 9);

  EXPECT_EQ(localize(photos, scratch / "strict", {"--strict"}).status, 1);
}

TEST(BadInput, UnusableInputsAreRefused) {
  const Scratch scratch;
  fs::create_directories(scratch / "empty");
  expect_refused(localize(scratch / "empty", scratch / "run"), "no images");
  expect_refused(localize(scratch / "missing", scratch / "run"), "no such file");
  write_file_atomic(scratch / "list.txt", "absent.jpg\n");
  expect_refused(localize(scratch / "list.txt", scratch / "run"), "line 1");
  EXPECT_FALSE(fs::exists(scratch / "run"));
}

TEST(BadInput, UnwritableOutput) {
  const Scratch scratch;
  write_file_atomic(scratch / "file", "in the way");
  expect_refused(localize(SimulatedWorld::instance().queries, scratch / "file"), "file");
  expect_refused(localize(SimulatedWorld::instance().queries, "/proc/skyfix-run"), "cannot");
  fs::create_directories(scratch / "foreign");
  write_file_atomic(scratch / "foreign/thesis.doc", "precious");
  expect_refused(localize(SimulatedWorld::instance().queries, scratch / "foreign"), "foreign");
  EXPECT_EQ(read_file(scratch / "foreign/thesis.doc"), "precious");
}

TEST(BadInput, MapOfAnotherVersion) {
  const Scratch scratch;
  fs::copy(SimulatedWorld::instance().map, scratch / "map", fs::copy_options::recursive);
  json manifest = json::parse(read_file(scratch / "map/map.json"));
  ASSERT_TRUE(manifest.contains("version"));
  manifest["version"] = 999;
  write_file_atomic(scratch / "map/map.json", manifest.dump());
  expect_refused(skyfix({"map", "info", scratch / "map"}), "version");
}

TEST(BadInput, DamagedMaps) {
  const Scratch scratch;
  fs::copy(SimulatedWorld::instance().map, scratch / "map", fs::copy_options::recursive);
  const fs::path table = scratch / "map/points/xyz.npy";
  const std::string whole = read_file(table);
  write_file_atomic(table, whole.substr(0, whole.size() / 2));
  expect_refused(skyfix({"map", "info", scratch / "map"}), "xyz.npy");
  fs::remove(table);
  expect_refused(skyfix({"map", "info", scratch / "map"}), "xyz.npy");
  std::string flipped = whole;
  flipped[flipped.size() - 3] ^= 0x40;
  write_file_atomic(table, flipped);
  expect_refused(skyfix({"map", "check", scratch / "map"}), "xyz.npy");
  write_file_atomic(scratch / "map/map.json", "{");
  expect_refused(skyfix({"map", "info", scratch / "map"}), "map.json");
  expect_refused(skyfix({"map", "info", scratch / "nothing"}), "nothing");
}

TEST(BadInput, ModelsThatCannotBeUsed) {
  const Scratch scratch;
  const fs::path model = SimulatedWorld::instance().folder / "data/sparse/0";
  const fs::path images = SimulatedWorld::instance().folder / "data/images/map";
  fs::create_directories(scratch / "zero");
  for (const char* file : {"cameras.bin", "images.bin"})
    fs::copy_file(model / file, scratch / "zero" / file);
  write_file_atomic(scratch / "zero/points3D.bin", std::string(8, '\0'));
  const auto build = [&](const fs::path& colmap, const fs::path& photos) {
    return skyfix(
        {"map", "build", "--colmap", colmap, "--images", photos, "--out", scratch / "map"});
  };
  expect_refused(build(scratch / "zero", images), "empty_model");
  const std::string bytes = read_file(model / "images.bin");
  write_file_atomic(scratch / "zero/images.bin", bytes.substr(0, bytes.size() - 11));
  expect_refused(build(scratch / "zero", images), "images.bin");
  expect_refused(build(scratch / "nothing", images), "nothing");
  fs::create_directories(scratch / "no_photos");
  expect_refused(build(model, scratch / "no_photos"), "--images");
  EXPECT_FALSE(fs::exists(scratch / "map"));
}

TEST(BadInput, ReferencesAndRunsThatCannotBeRead) {
  const Scratch scratch;
  ASSERT_EQ(localize(SimulatedWorld::instance().queries, scratch / "run").status, 0);
  write_file_atomic(scratch / "reference.json", "{\"format\": \"something\"}");
  expect_refused(
      skyfix({"evaluate", "--run", scratch / "run", "--reference", scratch / "reference.json"}),
      "reference.json");
  expect_refused(skyfix({"evaluate", "--run", scratch / "none", "--reference",
                         SimulatedWorld::instance().reference}),
                 "none");
  expect_refused(skyfix({"records", "--canonical", scratch / "none"}), "none");
}

}  // namespace
}  // namespace skyfix::testing
