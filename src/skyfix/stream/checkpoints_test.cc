#include "skyfix/stream/checkpoints.h"

#include <gmock/gmock.h>

#include "skyfix/base/file.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;

class Checkpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  const fs::path folder_ = fs::path(::testing::TempDir()) / "checkpoints_test";
};

TEST_F(Checkpoints, AreFoundNewestFirstAndNothingElseIs) {
  for (const std::int64_t read : {9, 1000000, 70}) {
    write_file_atomic(checkpoint_file(folder_, read, read - 8), "x");
  }
  write_file_atomic(folder_ / "read-1-given-1.ckpt.tmp", "x");
  write_file_atomic(folder_ / "notes.txt", "x");
  const auto all = checkpoints_in(folder_);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].read, 1000000);
  EXPECT_EQ(all[1].read, 70);
  EXPECT_EQ(all[2].given, 1);
  EXPECT_TRUE(checkpoints_in(folder_ / "nowhere").empty());
}

TEST_F(Checkpoints, OneThatGaveMoreThanWasRecordedIsNoneToGoOnFrom) {
  write_file_atomic(checkpoint_file(folder_, 50, 42), "x");
  write_file_atomic(checkpoint_file(folder_, 20, 12), "x");
  EXPECT_EQ(usable_checkpoints(folder_, 42).size(), 2u);
  EXPECT_EQ(usable_checkpoints(folder_, 41).size(), 1u);
  EXPECT_TRUE(usable_checkpoints(folder_, 11).empty());
}

TEST_F(Checkpoints, OnlyTheNewestStay) {
  for (const std::int64_t read : {10, 20, 30, 40}) {
    write_file_atomic(checkpoint_file(folder_, read, read), "x");
  }
  keep_newest(folder_, 2);
  const auto all = checkpoints_in(folder_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].read, 30);
}

}  // namespace
}  // namespace skyfix
