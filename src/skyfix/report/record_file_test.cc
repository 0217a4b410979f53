#include "skyfix/report/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::scratch_folder;
using ::testing::ElementsAre;

TEST(WholeLines, LeavesACutLineOut) {
  EXPECT_THAT(whole_lines("a\n\nb\ncut"), ElementsAre("a", "", "b"));
  EXPECT_THAT(whole_lines("cut"), ElementsAre());
  EXPECT_THAT(whole_lines(""), ElementsAre());
}

TEST(RecordFile, LinesAreThereAsSoonAsAppended) {
  const auto path = scratch_folder() / "records.jsonl";
  RecordFile file(path);
  for (int i = 0; i < 40; ++i) {
    file.append("line " + std::to_string(i));
    EXPECT_EQ(whole_lines(read_file(path)).size(), i + 1);
  }
  file.truncate(7);
  file.append("next");
  EXPECT_EQ(read_file(path), "line 0\nnext\n");
}

TEST(RecordFile, OneWriterOnly) {
  const auto path = scratch_folder() / "records.jsonl";
  {
    const RecordFile first(path);
    EXPECT_THROW(RecordFile second(path), Error);
  }
  EXPECT_NO_THROW(RecordFile later(path));
}

TEST(RecordFile, AFullDiskLeavesNoPartOfALine) {
  const auto path = scratch_folder() / "records.jsonl";
  RecordFile file(path);
  file.append("first");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(file.append(std::string(500, 'x')), Error);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, old_handler);
  file.append("second");
  EXPECT_EQ(read_file(path), "first\nsecond\n");
}

TEST(RecordFile, SaysWhyItCannotBeOpened) {
  try {
    RecordFile file(scratch_folder() / "no such folder" / "records.jsonl");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::unwritable_output);
  }
}

}  // namespace
}  // namespace skyfix
