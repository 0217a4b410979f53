#include "skyfix/base/error.h"

#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

namespace skyfix {
namespace {

struct Row {
  int number;
  std::string name;
  std::string meaning;
};
const Row kRows[] = {
#define SKYFIX_REASON(number, name, meaning) {number, #name, meaning},
#include "skyfix/base/reasons.def"
#undef SKYFIX_REASON
};

TEST(Reason, EveryRowOfTheTableIsAnswered) {
  std::set<std::string> names;
  int last = 0;
  for (const Row& row : kRows) {
    const auto reason = static_cast<Reason>(row.number);
    EXPECT_EQ(reason_name(reason), row.name);
    EXPECT_EQ(reason_meaning(reason), row.meaning);
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_GT(row.number, last) << row.name;
    EXPECT_EQ(row.meaning.back(), '.') << row.name;
    last = row.number;
  }
}

// Scripts branch on these: a number or a name that was published does not change.
TEST(Reason, PublishedNumbersStay) {
  const std::map<int, std::string> published = {{100, "unreadable_file"}, {200, "camera_mismatch"},
                                                {302, "too_few_matches"}, {400, "no_pose_found"},
                                                {500, "bad_model"},       {605, "bad_option"},
                                                {900, "internal"}};
  for (const auto& [number, name] : published) {
    EXPECT_EQ(reason_name(static_cast<Reason>(number)), name);
  }
}

TEST(Reason, AnUnknownNumberIsAFaultOfTheProgram) {
  EXPECT_EQ(reason_name(static_cast<Reason>(12345)), "internal");
  EXPECT_EQ(reason_meaning(static_cast<Reason>(12345)), "");
}

TEST(Error, CarriesReasonMessageAndFile) {
  const Error error(Reason::bad_model, "the header is cut off", "map/cameras.bin");
  EXPECT_EQ(error.reason(), Reason::bad_model);
  EXPECT_EQ(error.message(), "the header is cut off");
  EXPECT_EQ(error.file(), "map/cameras.bin");
  EXPECT_STREQ(error.what(), "the header is cut off [map/cameras.bin]");
}

TEST(Error, WithoutAFileSaysOnlyTheMessage) {
  const Error error(Reason::bad_option, "--top must be positive");
  EXPECT_TRUE(error.file().empty());
  EXPECT_STREQ(error.what(), "--top must be positive");
}

}  // namespace
}  // namespace skyfix
