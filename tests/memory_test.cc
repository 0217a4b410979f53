// Running out of device memory never shows in what a run records. The stand-in device (host memory
// behind the same interfaces as a GPU's) makes every shortage happen on purpose.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "process.h"
#include "simulated.h"
#include "skyfix/base/file.h"
#include "skyfix/image/image.h"

namespace skyfix::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

std::vector<std::string> localize(const fs::path& run, const std::vector<std::string>& more) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  std::vector<std::string> arguments = {
      "--log-level", "error",       "localize", "--map",   world.map,
      "--input",     world.queries, "--out",    run,       "--descriptor-cache",
      "off",         "--query-end", "2",        "--device"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Json manifest(const fs::path& run) { return Json::parse(read_file(run / "run.json")); }

std::vector<Json> records(const fs::path& run) {
  std::ifstream lines(run / "records.jsonl");
  std::vector<Json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(Json::parse(line));
  return records;
}

class Memory : public ::testing::Test {
 protected:
  // Runs on the stand-in device and compares the records with those of the CPU alone.
  Json run_equal(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> options = {"host"};
    options.insert(options.end(), more.begin(), more.end());
    const Outcome outcome = skyfix(localize(scratch_ / name, options));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(canonical(scratch_ / name), plain()) << name;
    return manifest(scratch_ / name);
  }
  static std::string canonical(const fs::path& run) {
    return skyfix({"records", "--canonical", run}).out;
  }
  // The canonical records of the CPU alone.
  static const std::string& plain() {
    static const std::string records = [] {
      const fs::path run = SimulatedWorld::instance().folder / "plain";
      const Outcome outcome = skyfix(localize(run, {"cpu"}));
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_TRUE(manifest(run)["memory"]["gpu_peak_mib"].is_null());
      return canonical(run);
    }();
    return records;
  }

  Scratch scratch_;
};

TEST_F(Memory, FailingAllocationsDoNotShowInTheRecords) {
  ASSERT_FALSE(plain().empty());
  for (const char* spec : {"nth=1", "nth=9", "above=64KiB,nth=3", "probability=0.3,seed=5"}) {
    const Json json = run_equal(spec, {"--inject-allocation-failures", spec});
    EXPECT_GE(json["memory"]["retries"], 1) << spec;
    EXPECT_EQ(json["memory_failures"], 0);
    EXPECT_EQ(json["about"]["compute"]["inject_allocation_failures"], spec);
    int retries = 0;
    for (const Json& record : records(scratch_ / spec)) {
      const Json& telemetry = record["telemetry"];
      EXPECT_EQ(telemetry["numerics"], "equal");
      EXPECT_EQ(telemetry["memory_given_up"].is_null(), telemetry["memory_retries"] == 0);
      retries += telemetry["memory_retries"].get<int>();
    }
    EXPECT_EQ(json["memory"]["retries"], retries);
  }
}

TEST_F(Memory, ATinyBudgetIsKept) {
  for (const auto& [size, mib] : {std::pair{"20KiB", 20.0 / 1024}, {"4MiB", 4.0}}) {
    const Json memory = run_equal(size, {"--gpu-memory", size})["memory"];
    EXPECT_EQ(memory["cap_mib"], mib);
    EXPECT_LE(memory["gpu_memory"]["reserved_peak_mib"], mib);
    // 20 KiB hold no frame whatever the plan; for 4 MiB it cuts frames up beforehand.
    EXPECT_EQ(memory["retries"] >= 1, std::string(size) == "20KiB") << size;
  }
  EXPECT_THAT(records(scratch_ / "20KiB")[0]["telemetry"]["memory_given_up"].get<std::string>(),
              HasSubstr("cpu"));
}

TEST_F(Memory, PeaksAreExplainedByOwner) {
  const Json json = run_equal("run", {});
  const Json& memory = json["memory"];
  EXPECT_EQ(memory["retries"], 0);
  EXPECT_GT(memory["reference_cache"]["hits"], 0);
  double sum = 0;
  for (const auto& [owner, mib] : memory["gpu_memory"]["by_owner_mib"].items()) {
    EXPECT_GT(mib, 0) << owner;
    sum += mib.get<double>();
  }
  EXPECT_NEAR(sum, memory["gpu_peak_mib"], 1e-9);
  for (const Json& record : records(scratch_ / "run")) {
    EXPECT_LE(record["telemetry"]["gpu_peak_mib"], memory["gpu_peak_mib"]);
    EXPECT_GT(record["telemetry"]["gpu_memory"]["by_owner_mib"]["reference descriptors"], 0);
  }
  const Json off = run_equal("off", {"--ref-cache-max-frames", "0"});
  EXPECT_EQ(off["memory"]["reference_cache"]["hits"], 0);
}

TEST_F(Memory, ARunGoesOnWithAnotherBudget) {
  run_equal("run", {"--gpu-memory", "16MiB"});
  const Json json = run_equal("run", {"--gpu-memory", "32MiB", "--resume"});
  EXPECT_EQ(json["memory"]["cap_mib"], 32);
  EXPECT_GT(json["memory"]["gpu_peak_mib"], 0) << "what the first part used is remembered";
}

// Copies of one photo need the same memory each; a photo without features needs none.
TEST_F(Memory, NothingIsAllocatedAfterTheWarmUp) {
  const fs::path photos = scratch_ / "photos";
  fs::create_directories(photos);
  const fs::path photo = fs::directory_iterator(SimulatedWorld::instance().queries)->path();
  for (const char* name : {"1.jpg", "2.jpg"}) fs::copy_file(photo, photos / name);
  const auto run = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--log-level",
                                          "error",
                                          "localize",
                                          "--map",
                                          SimulatedWorld::instance().map,
                                          "--input",
                                          photos,
                                          "--out",
                                          scratch_ / name,
                                          "--descriptor-cache",
                                          "off",
                                          "--temporal-candidates",
                                          "0",
                                          "--device",
                                          "host"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return skyfix(arguments);
  };
  for (const char* frames : {"0", "8"}) {
    const Outcome outcome = run(std::string("cache") + frames,
                                {"--no-allocation-after", "1", "--ref-cache-max-frames", frames});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
  write_png(photos / "0.png", Image{600, 400, 1, std::vector<std::uint8_t>(600 * 400)});
  const Outcome outcome = run("cold", {"--no-allocation-after", "1"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("' allocates "));
  EXPECT_EQ(records(scratch_ / "cold").size(), 1u);
  EXPECT_EQ(run("cold", {"--resume"}).status, 0) << "what was recorded is kept";
}

TEST_F(Memory, OptionsThatCannotBeAreRefusedByName) {
  const auto refused = [&](const std::vector<std::string>& options) {
    const Outcome outcome = skyfix(localize(scratch_ / "refused", options));
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("bad_option"));
    EXPECT_FALSE(fs::exists(scratch_ / "refused"));
    return outcome.err;
  };
  EXPECT_THAT(refused({"tpu"}), HasSubstr("--device"));
  EXPECT_THAT(refused({"host", "--gpu-memory", "lots"}), HasSubstr("--gpu-memory"));
  EXPECT_THAT(refused({"host", "--host-memory", "0"}), HasSubstr("--host-memory"));
  EXPECT_THAT(refused({"cpu", "--host-memory", "1MiB"}), HasSubstr("allow "));
  EXPECT_THAT(refused({"host", "--ref-cache-max-frames", "-2"}),
              HasSubstr("--ref-cache-max-frames"));
  EXPECT_THAT(refused({"host", "--ref-cache-max-frames", "-1"}),
              HasSubstr("--ref-cache-max-frames"));
  EXPECT_THAT(refused({"cpu", "--no-allocation-after", "1"}), HasSubstr("--no-allocation-after"));
  EXPECT_THAT(refused({"host", "--no-allocation-after", "-1"}), HasSubstr("--no-allocation-after"));
  EXPECT_THAT(refused({"host", "--inject-allocation-failures", "often"}),
              HasSubstr("--inject-allocation-failures"));
  EXPECT_THAT(refused({"cpu", "--inject-allocation-failures", "nth=1"}), HasSubstr("--device"));
}

}  // namespace
}  // namespace skyfix::testing
