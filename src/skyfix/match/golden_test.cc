// The golden cases of tests/data/matching (manifest.json there says what each is about).
#include <gmock/gmock.h>

#include <cmath>

#include "skyfix/match/mutual_nearest.h"
#include "skyfix/match/testing.h"

namespace skyfix {
namespace {

using testing::Descriptors;
using testing::Safetensors;

std::filesystem::path golden_folder() {
  return std::filesystem::path(SKYFIX_SOURCE_DIR) / "tests/data/matching";
}

void expect_scores(const std::vector<float>& found, const std::vector<float>& golden) {
  ASSERT_EQ(found.size(), golden.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isinf(golden[i])) {
      EXPECT_EQ(found[i], golden[i]) << i;
    } else {
      EXPECT_NEAR(found[i], golden[i], 2e-6 + 2e-6 * std::abs(golden[i])) << i;
    }
  }
}

void expect_case(const Safetensors& golden, const std::string& name, Simd simd) {
  SCOPED_TRACE(name + " " + std::string(simd_name(simd)));
  const Descriptors query = golden.read_rows(name + ".query");
  const Descriptors map = golden.read_rows(name + ".map");
  const NearestNeighbours found = nearest_neighbours(query.view(), map.view(), simd);
  EXPECT_EQ(found.nn_query, golden.read<std::int64_t>(name + ".nn_query"));
  EXPECT_EQ(found.nn_map, golden.read<std::int64_t>(name + ".nn_map"));
  expect_scores(found.score_query, golden.read<float>(name + ".score_query"));
  expect_scores(found.score_map, golden.read<float>(name + ".score_map"));
  std::vector<std::int64_t> pairs;
  for (const MutualPair& pair : mutual_pairs(found)) {
    pairs.push_back(pair.query);
    pairs.push_back(pair.map);
    EXPECT_EQ(pair.score, found.score_query[pair.query]);
  }
  EXPECT_EQ(pairs, golden.read<std::int64_t>(name + ".pairs"));
}

TEST(Golden, EveryCaseWithEveryKernel) {
  const Safetensors golden(golden_folder() / "cases.safetensors");
  const auto manifest = nlohmann::json::parse(read_file(golden_folder() / "manifest.json"));
  ASSERT_GE(manifest.at("cases").size(), 15u);
  for (const auto& item : manifest.at("cases").items()) {
    for (const Simd simd : testing::available_simds()) expect_case(golden, item.key(), simd);
  }
}

TEST(Golden, TheReferenceAgrees) {
  const Safetensors golden(golden_folder() / "cases.safetensors");
  const auto manifest = nlohmann::json::parse(read_file(golden_folder() / "manifest.json"));
  for (const auto& item : manifest.at("cases").items()) {
    SCOPED_TRACE(item.key());
    const NearestNeighbours found =
        reference::nearest_neighbours(golden.read_rows(item.key() + ".query").view(),
                                      golden.read_rows(item.key() + ".map").view());
    EXPECT_EQ(found.nn_query, golden.read<std::int64_t>(item.key() + ".nn_query"));
    EXPECT_EQ(found.nn_map, golden.read<std::int64_t>(item.key() + ".nn_map"));
    EXPECT_EQ(found.score_query, golden.read<float>(item.key() + ".score_query"));
    EXPECT_EQ(found.score_map, golden.read<float>(item.key() + ".score_map"));
  }
}

}  // namespace
}  // namespace skyfix
