// The real bar: five photos of a real drone flight against a map of thirteen others. Retrieval
// chooses the candidates; no query is told its neighbours.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "real_data.h"
#include "skyfix/base/file.h"

namespace skyfix::testing {
namespace {
using nlohmann::json;

TEST(Brighton, FiveOfFiveWithinEightCentimetres) {
  SKYFIX_REQUIRE_SHARED("data/brighton");
  const Scratch scratch;
  const auto data = shared_folder() / "data/brighton";
  const json result = localize_and_evaluate(brighton_map(), data / "images/query",
                                            data / "reference.json", scratch / "run");
  EXPECT_EQ(result.at("frames"), 5);
  EXPECT_EQ(result.at("ok"), 5);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), 0.08);
  EXPECT_LE(result.at("horizontal_max_m").get<double>(), 0.20);
  EXPECT_EQ(result.at("memory_failures"), 0);
}

TEST(Brighton, RecordsTellTheWholeStory) {
  SKYFIX_REQUIRE_SHARED("data/brighton");
  const Scratch scratch;
  const auto data = shared_folder() / "data/brighton";
  const Outcome outcome =
      skyfix({"localize", "--map", brighton_map(), "--images", data / "images/query", "--out",
              scratch / "run", "--descriptor-cache", "off"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json record = json::parse(read_file(scratch / "run/frames/DJI_0027.JPG.json"));
  EXPECT_EQ(record.at("status"), "ok");
  EXPECT_TRUE(record.at("reason").is_null());
  EXPECT_EQ(record.at("camera_source"), "map_camera");
  EXPECT_EQ(record.at("turn"), 0);
  const json& retrieval = record.at("vpr_retrieval");
  EXPECT_EQ(retrieval.at("query_descriptor_source"), "vlad-sift");
  EXPECT_GT(retrieval.at("num_faiss_candidates").get<int>(), 0);
  EXPECT_GT(retrieval.at("num_temporal_candidates").get<int>(), 0);
  for (const json& candidate : retrieval.at("candidates")) {
    EXPECT_FALSE(candidate.at("sources").empty());
  }
  // The 95 % region of an honest fix is centimetres to decimetres here, not millimetres or metres.
  const double sigma_e = std::sqrt(record.at("covariance_enu_6x6").at(0).get<double>());
  EXPECT_GT(sigma_e, 0.001);
  EXPECT_LT(sigma_e, 0.5);
  const json wgs84 = record.at("position_wgs84");
  EXPECT_NEAR(wgs84.at("lat").get<double>(), 46.8425, 0.002);
  EXPECT_NE(outcome.err.find("faiss="), std::string::npos) << "one console line a frame";
}

class SpoiledBrighton : public ::testing::TestWithParam<Spoil> {};

TEST_P(SpoiledBrighton, FiveOfFiveWithinTwelveCentimetres) {
  SKYFIX_REQUIRE_SHARED("data/brighton");
  const Scratch scratch;
  write_spoiled_brighton(GetParam(), scratch.path());
  const json result = localize_and_evaluate(brighton_map(), scratch / "images",
                                            scratch / "reference.json", scratch / "run");
  EXPECT_EQ(result.at("ok"), 5);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), 0.12);
  // The reference turns with the picture: a wrong turn would show here.
  EXPECT_LE(result.at("rotation_max_deg").get<double>(), 1.0);
}

// A mirrored picture fits a camera below the ground that looks up, with hundreds of inliers.
TEST(Brighton, MirroredPhotosAreNoPlace) {
  SKYFIX_REQUIRE_SHARED("data/brighton");
  const Scratch scratch;
  write_spoiled_brighton({"mirrored", 95, 0, 1,
                          [](const Image& image) {
                            Image mirrored = image;
                            for (int y = 0; y < image.height; ++y) {
                              for (int x = 0; x < image.width; ++x) {
                                std::copy_n(image.row(y) + 3 * x, 3,
                                            mirrored.row(y) + 3 * (image.width - 1 - x));
                              }
                            }
                            return mirrored;
                          }},
                         scratch.path());
  const json result = localize_and_evaluate(brighton_map(), scratch / "images",
                                            scratch / "reference.json", scratch / "run");
  EXPECT_EQ(result.at("frames"), 5);
  EXPECT_EQ(result.at("ok"), 0);
}

Image darken(const Image& image) {
  Image dark = image;
  for (auto& value : dark.pixels)
    value = static_cast<std::uint8_t>(std::lround(255 * std::pow(value / 255.0, 1.8) * 0.6));
  return dark;
}

INSTANTIATE_TEST_SUITE_P(
    All, SpoiledBrighton,
    ::testing::Values(Spoil{"turned_90", 95, 1, 1, nullptr}, Spoil{"turned_180", 95, 2, 1, nullptr},
                      Spoil{"turned_270", 95, 3, 1, nullptr}, Spoil{"jpeg_30", 30, 0, 1, nullptr},
                      Spoil{"blurred", 95, 0, 1, [](const Image& image) { return blur(image, 2); }},
                      Spoil{"half_size", 95, 0, 0.5, nullptr}, Spoil{"darkened", 95, 0, 1, darken}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace skyfix::testing
