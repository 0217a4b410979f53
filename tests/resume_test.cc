// A run that is killed at any moment and resumed gives the canonical bytes of an uninterrupted one.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <random>

#include "process.h"
#include "simulated.h"
#include "skyfix/base/file.h"

namespace skyfix::testing {
namespace {

std::vector<std::string> localize(const std::filesystem::path& run,
                                  const std::vector<std::string>& more = {}) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  std::vector<std::string> arguments = {
      "--log-level", "error", "localize",           "--map", world.map, "--input", world.queries,
      "--out",       run,     "--descriptor-cache", "off"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Resume, KilledAtFiftyRandomMomentsEqualsUninterrupted) {
  const Scratch scratch;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(skyfix(localize(scratch / "whole", {"--ba-window", "2"})).status, 0);
  const auto whole_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                            std::chrono::steady_clock::now() - begin)
                            .count();
  const std::string expected = skyfix({"records", "--canonical", scratch / "whole"}).out;
  ASSERT_FALSE(expected.empty());

  std::mt19937 random(7);
  // Each run is killed several times on its way, until 50 kills have hit a running program.
  int kills = 0;
  for (int run = 0; kills < 50; ++run) {
    ASSERT_LT(run, 60) << "the runs end before they can be killed";
    const auto folder = scratch / ("run" + std::to_string(run));
    Outcome outcome;
    do {
      const int after_ms =
          std::uniform_int_distribution<int>(1, static_cast<int>(whole_ms / 2))(random);
      outcome = skyfix_killed_after(localize(folder, {"--ba-window", "2", "--resume"}), after_ms);
      if (outcome.status == 128 + SIGKILL) ++kills;
      ASSERT_TRUE(outcome.status == 0 || outcome.status == 128 + SIGKILL) << outcome.err;
    } while (outcome.status != 0 && kills < 50);
    if (outcome.status != 0) {
      ASSERT_EQ(skyfix(localize(folder, {"--ba-window", "2", "--resume"})).status, 0);
    }
    ASSERT_EQ(skyfix({"records", "--canonical", folder}).out, expected) << "run " << run;
    std::filesystem::remove_all(folder);
  }
}

TEST(Resume, ControlCFinishesTheFrameInHand) {
  const Scratch scratch;
  const Outcome outcome = skyfix_killed_after(localize(scratch / "run"), 700, SIGINT);
  if (outcome.status == 0) GTEST_SKIP() << "SKIPPED: the run ended before Ctrl-C";
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_THAT(read_file(scratch / "run/run.json"), ::testing::HasSubstr("cancelled"));
  ASSERT_EQ(skyfix(localize(scratch / "run", {"--resume"})).status, 0);
  ASSERT_EQ(skyfix(localize(scratch / "whole")).status, 0);
  EXPECT_EQ(skyfix({"records", "--canonical", scratch / "run"}).out,
            skyfix({"records", "--canonical", scratch / "whole"}).out);
}

TEST(Resume, ReplacedPhotosAreRefused) {
  namespace fs = std::filesystem;
  const Scratch scratch;
  fs::copy(SimulatedWorld::instance().queries, scratch / "photos");
  const std::vector<std::string> arguments = {
      "localize", "--map",         SimulatedWorld::instance().map, "--input", scratch / "photos",
      "--out",    scratch / "run", "--descriptor-cache",           "off",     "--resume"};
  ASSERT_EQ(skyfix(arguments).status, 0);
  ASSERT_EQ(skyfix(arguments).status, 0);
  std::vector<fs::path> photos;
  for (const auto& entry : fs::directory_iterator(scratch / "photos"))
    photos.push_back(entry.path());
  fs::copy_file(photos[0], photos[1], fs::copy_options::overwrite_existing);
  const Outcome outcome = skyfix(arguments);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("photos_sha256"));
}

TEST(Resume, OtherOptionsAreRefusedByName) {
  const Scratch scratch;
  ASSERT_EQ(skyfix(localize(scratch / "run")).status, 0);
  const std::string before = read_file(scratch / "run/records.jsonl");
  const Outcome other = skyfix(localize(scratch / "run", {"--resume", "--seed", "9"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, ::testing::HasSubstr("seed"));
  const Outcome again = skyfix(localize(scratch / "run"));
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, ::testing::HasSubstr("--resume"));
  EXPECT_EQ(read_file(scratch / "run/records.jsonl"), before) << "what was recorded is kept";
}

}  // namespace
}  // namespace skyfix::testing
