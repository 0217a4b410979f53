// The command line as a user meets it: help, typos, ranges, exit statuses.
#include <gmock/gmock.h>

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "process.h"
#include "simulated.h"
#include "skyfix/base/file.h"

namespace skyfix::testing {
namespace {
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CommandLine, HelpNamesEverySubcommandWithASentence) {
  const Outcome help = skyfix({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* name : {"localize", "map", "evaluate", "simulate", "records", "export", "bench",
                           "plan", "licenses"}) {
    EXPECT_THAT(help.out, HasSubstr(name));
    const Outcome own = skyfix({name, "--help"});
    EXPECT_EQ(own.status, 0) << name;
    EXPECT_GT(own.out.size(), 150u) << name;
  }
}

TEST(CommandLine, NothingToDoShowsTheHelp) {
  const Outcome outcome = skyfix({});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, HasSubstr("localize"));
}

TEST(CommandLine, TyposGetTheNearestName) {
  EXPECT_THAT(skyfix({"localise"}).err, HasSubstr("Did you mean 'localize'?"));
  EXPECT_THAT(skyfix({"map", "biuld"}).err, HasSubstr("Did you mean 'build'?"));
  const Outcome option = skyfix({"localize", "--map", "m", "--input", "i", "--vpr-topk", "5"});
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.err, HasSubstr("Did you mean '--vpr-top-k'?"));
}

TEST(CommandLine, MissingAndBadValuesSayWhatIsAllowed) {
  EXPECT_THAT(skyfix({"localize", "--input", "x"}).err, HasSubstr("--map"));
  const Outcome policy = skyfix({"localize", "--map", "m", "--input", "i", "--out", "o",
                                 "--candidate-policy", "retrieval_frist"});
  EXPECT_EQ(policy.status, 2);
  EXPECT_THAT(policy.err, HasSubstr("retrieval-first"));
  EXPECT_THAT(
      skyfix({"localize", "--map", "m", "--input", "i", "--out", "o", "--vpr-top-k", "0"}).err,
      HasSubstr("--vpr-top-k"));
  EXPECT_EQ(skyfix({"simulate", "--out", "/tmp/never", "--width", "-5"}).status, 2);
}

// Status 2, nothing on standard output, and one line that ends in the reason code.
std::string complaint(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::EndsWith(" --help (bad_option)\n"));
  return outcome.err;
}

TEST(CommandLine, EveryComplaintSaysWhatIsAllowedAndEndsInTheReasonCode) {
  const std::vector<std::pair<std::vector<std::string>, const char*>> cases = {
      {{"plan", "localize", "--width", "1e3"}, "--width: '1e3' is not a whole number."},
      {{"simulate", "--out", "x", "--gps-noise", "low"}, "--gps-noise: 'low' is not a number."},
      {{"bench", "match", "--repeat", "x"}, "--repeat: 'x' is not allowed; allowed is 1 to 1000."},
      {{"bench", "match", "--repeat"}, "--repeat: its value is missing."},
      {{"export", "x", "--format", "kml"},
       "'kml' is not allowed; allowed is csv, geojson, tum, hloc, ply, las or colmap"},
      {{"plan", "localize", "--width", "3"}, "--height is required."},
      {{"bench"}, "a command is missing: match, memory, stream, models, localize or frames."},
      {{"doctor", "--jsno"}, "'--jsno' is not known to doctor. Did you mean '--json'?"},
      {{"--threads", "-1", "doctor"}, "--threads: '-1' is not allowed; allowed is 0 to 1024."},
  };
  for (const auto& [arguments, text] : cases) {
    EXPECT_THAT(complaint(skyfix(arguments)), HasSubstr(text));
  }
}

TEST(CommandLine, BenchmarksRefuseNumbersBelowZeroByName) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"match", "--sizes", "10x10"}, "--dim --repeat"},
      {{"memory", "localize"},
       "--ref-cache-max-frames --frames --query-rows --dim --map-points --references --seed"},
      {{"localize", "--map", "m", "--input", "i"}, "--repeat"}};
  for (const auto& [command, options] : commands) {
    std::istringstream names(options);
    for (std::string option; names >> option;) {
      std::vector<std::string> arguments = {"bench"};
      arguments.insert(arguments.end(), command.begin(), command.end());
      arguments.insert(arguments.end(), {option, "-1"});
      EXPECT_THAT(complaint(skyfix(arguments)), HasSubstr(option + ": '-1' is not allowed"));
    }
  }
  EXPECT_THAT(complaint(skyfix({"bench", "match", "--sizes", "10x10", "--dim", "0"})),
              HasSubstr("--dim: '0' is not allowed; allowed is 1 to 65536."));
}

TEST(CommandLine, AFullDiskIsNoSuccess) {
  const std::string command = std::string(SKYFIX_BINARY) + " licenses > /dev/full 2> /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
}

TEST(CommandLine, VersionAndLicences) {
  EXPECT_THAT(skyfix({"--version"}).out, HasSubstr("skyfix"));
  const Outcome licences = skyfix({"licenses"});
  EXPECT_EQ(licences.status, 0);
  EXPECT_THAT(licences.out, HasSubstr("Apache-2.0"));
  EXPECT_THAT(licences.out, HasSubstr("GPL"));
}

TEST(CommandLine, DryRunListsTheChosenFilesOnly) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Outcome outcome = skyfix({"localize", "--map", world.map, "--input", world.queries,
                                  "--dry-run", "--query-start", "3", "--query-end", "-1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 6);
  EXPECT_EQ(outcome.out.substr(0, 2), "3\t");
}

TEST(CommandLine, RangeKeepsTheInputsNumbers) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Scratch scratch;
  const Outcome outcome =
      skyfix({"localize", "--map", world.map, "--input", world.queries, "--out", scratch / "run",
              "--query-start", "2", "--query-end", "3", "--descriptor-cache", "off"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string records = skyfix({"records", scratch / "run"}).out;
  EXPECT_EQ(std::count(records.begin(), records.end(), '\n'), 2);
  EXPECT_THAT(records, HasSubstr("\"index\":2,"));
  EXPECT_THAT(records, Not(HasSubstr("\"index\":1,")));
}

TEST(CommandLine, JsonLogIsOneObjectALine) {
  const SimulatedWorld& world = SimulatedWorld::instance();
  const Scratch scratch;
  const Outcome outcome =
      skyfix({"--log-format", "json", "localize", "--map", world.map, "--input", world.queries,
              "--out", scratch / "run", "--query-end", "1", "--descriptor-cache", "off"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err.substr(0, 9), "{\"time\":\"");
  EXPECT_THAT(outcome.err, HasSubstr("\"message\":\""));
  EXPECT_THAT(outcome.err, Not(HasSubstr("\x1b["))) << "no colours where nobody looks";
}

}  // namespace
}  // namespace skyfix::testing
