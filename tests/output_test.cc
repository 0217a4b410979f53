// Where an output option leads: links, devices, standard output.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "process.h"
#include "skyfix/base/file.h"

namespace skyfix::testing {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Outcome plan(const fs::path& json) {
  return skyfix({"plan", "localize", "--width", "4000", "--height", "3000", "--frames", "9",
                 "--gpu-memory", "8GiB", "--json", json});
}

Outcome bench(const std::vector<std::string>& which, const fs::path& csv) {
  std::vector<std::string> words = {"bench"};
  words.insert(words.end(), which.begin(), which.end());
  words.insert(words.end(), {"--csv", csv});
  return skyfix(words);
}

const std::vector<std::string> kMatch = {"match", "--sizes", "20x10x8", "--repeat", "1"};
const std::vector<std::string> kMemory = {"memory",       "localize", "--frames",     "2",
                                          "--query-rows", "50",       "--map-points", "20"};

TEST(Output, ALinkIsFollowedAndADeviceWrittenInto) {
  const Scratch scratch;
  write_file_atomic(scratch / "plan.json", "old");
  fs::create_symlink("plan.json", scratch / "link");
  fs::create_symlink("made.csv", scratch / "dangling");
  fs::create_symlink("/dev/null", scratch / "nothing");
  EXPECT_EQ(plan(scratch / "link").status, 0);
  EXPECT_TRUE(Json::parse(read_file(scratch / "plan.json"))["fits"]);
  EXPECT_EQ(bench(kMatch, scratch / "dangling").status, 0);
  EXPECT_THAT(read_file(scratch / "made.csv"), StartsWith("method,"));
  EXPECT_EQ(plan(scratch / "nothing").status, 0);
  EXPECT_EQ(bench(kMemory, scratch / "nothing").status, 0);
  for (const char* name : {"link", "dangling", "nothing"}) {
    EXPECT_TRUE(fs::is_symlink(scratch / name)) << name;
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// A link of the test's own to where /dev/stdout leads: the machine's is not put at risk.
TEST(Output, TheFileBehindStandardOutputIsNotReplaced) {
  const Scratch scratch;
  fs::create_symlink("/proc/self/fd/1", scratch / "stdout");
  const Outcome both = plan(scratch / "stdout");
  EXPECT_EQ(both.status, 0);
  EXPECT_THAT(both.out, AllOf(StartsWith("{"), HasSubstr("\"fits\": true"), HasSubstr("fits")));
  const std::size_t end = both.out.find("\n}\n");
  ASSERT_NE(end, std::string::npos);
  EXPECT_GT(both.out.size(), end + 100) << "the table follows";
  EXPECT_TRUE(fs::is_symlink(scratch / "stdout"));
}

TEST(Output, AMinusIsStandardOutputAndNothingElseIsThere) {
  const Outcome planned = plan("-");
  EXPECT_EQ(planned.status, 0);
  EXPECT_TRUE(Json::parse(planned.out)["fits"]);
  EXPECT_GT(planned.err.size(), 100u) << "the table";
  const Outcome match = bench(kMatch, "-");
  EXPECT_THAT(match.out, AllOf(StartsWith("method,"), Not(HasSubstr("FAISS"))));
  EXPECT_THAT(match.err, HasSubstr("FAISS"));
  const Outcome memory = bench(kMemory, "-");
  EXPECT_THAT(memory.out, AllOf(StartsWith("frame,"), Not(HasSubstr("digest"))));
  EXPECT_THAT(memory.err, HasSubstr("digest"));
  EXPECT_FALSE(fs::exists("-"));
}

TEST(Output, AFolderThatIsNotThereIsNotMade) {
  const Scratch scratch;
  const fs::path file = scratch / "typo/file";
  for (const Outcome& outcome : {plan(file), bench(kMatch, file), bench(kMemory, file)}) {
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("does not exist"), HasSubstr("(unwritable_output)")));
  }
  EXPECT_FALSE(fs::exists(scratch / "typo"));
  EXPECT_EQ(plan("/dev/full").status, 2);
}

}  // namespace
}  // namespace skyfix::testing
