// The main job on the embedded data, against exact truth.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "process.h"
#include "simulated.h"
#include "skyfix/base/file.h"

namespace skyfix::testing {
namespace {
using nlohmann::json;

json evaluate(const std::filesystem::path& run, const std::filesystem::path& report) {
  const Outcome outcome = skyfix({"evaluate", "--run", run, "--reference",
                                  SimulatedWorld::instance().reference, "--json", report});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, ::testing::HasSubstr("horizontal"));
  return json::parse(read_file(report));
}

TEST(Simulated, MostFramesWithinCentimetres) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Scratch scratch;
  const Outcome outcome = skyfix({"localize", "--map", world.map, "--input", world.queries, "--out",
                                  scratch / "run", "--descriptor-cache", "off"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = evaluate(scratch / "run", scratch / "evaluation.json");
  EXPECT_EQ(result.at("frames"), 8);
  EXPECT_GE(result.at("ok").get<int>(), 7);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), 0.15);
  EXPECT_TRUE(std::filesystem::exists(scratch / "run/map.svg"));
  EXPECT_TRUE(result.contains("protocol"));
}

TEST(Simulated, SameSeedSameRecordsWhateverTheThreads) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Scratch scratch;
  std::string canonical[2];
  for (int i = 0; i < 2; ++i) {
    const auto run = scratch / ("run" + std::to_string(i));
    const Outcome outcome =
        skyfix({"--threads", i == 0 ? "1" : "3", "localize", "--map", world.map, "--input",
                world.queries, "--out", run, "--descriptor-cache", "off"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    canonical[i] = skyfix({"records", "--canonical", run}).out;
  }
  EXPECT_FALSE(canonical[0].empty());
  EXPECT_EQ(canonical[0], canonical[1]);
}

TEST(Simulated, DescriptorCacheChangesNothingButTheSource) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Scratch scratch;
  std::string canonical[2];
  for (int i = 0; i < 2; ++i) {
    const auto run = scratch / ("run" + std::to_string(i));
    const Outcome outcome = skyfix({"localize", "--map", world.map, "--input", world.queries,
                                    "--out", run, "--descriptor-cache", scratch / "cache"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    canonical[i] = skyfix({"records", "--canonical", run}).out;
    const std::string lines = skyfix({"records", run}).out;
    const json first = json::parse(lines.substr(0, lines.find('\n')));
    const json& retrieval = first.at("vpr_retrieval");
    EXPECT_EQ(retrieval.at("query_descriptor_source"), i == 0 ? "vlad-sift" : "cache");
    EXPECT_EQ(retrieval.at("query_descriptor_cache"), i == 0 ? "miss" : "hit");
  }
  EXPECT_EQ(canonical[0], canonical[1]);
}

TEST(Simulated, JointRefinementRuns) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Scratch scratch;
  const Outcome outcome =
      skyfix({"localize", "--map", world.map, "--input", world.queries, "--out", scratch / "run",
              "--ba-window", "3", "--descriptor-cache", "off"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json result = evaluate(scratch / "run", scratch / "evaluation.json");
  EXPECT_GE(result.at("ok").get<int>(), 7);
  EXPECT_LE(result.at("horizontal_rmse_m").get<double>(), 0.2);
}

TEST(Simulated, PoliciesAndPriorsGiveFixes) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  for (const char* policy : {"retrieval-only", "temporal-first"}) {
    const Scratch scratch;
    const Outcome outcome =
        skyfix({"localize", "--map", world.map, "--input", world.queries, "--out", scratch / "run",
                "--candidate-policy", policy, "--prior-candidates", "--descriptor-cache", "off"});
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_GE(evaluate(scratch / "run", scratch / "e.json").at("ok").get<int>(), 7) << policy;
  }
}

TEST(Simulated, MapInfoAndCheckAgree) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Outcome info = skyfix({"map", "info", world.map, "--verify"});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_THAT(info.out, ::testing::HasSubstr("verified"));
  EXPECT_EQ(skyfix({"map", "check", world.map}).status, 0);
  const Outcome model = skyfix(
      {"map", "check", world.folder / "data/sparse", "--images", world.folder / "data/images/map"});
  EXPECT_EQ(model.status, 0) << model.out << model.err;
}

}  // namespace
}  // namespace skyfix::testing
