#include "skyfix/base/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("skyfix_file_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

template <class Call>
Reason reason_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_FALSE(error.file().empty());
    return error.reason();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Reason::internal;
}

TEST_F(FileTest, WhatWasWrittenIsRead) {
  const std::string content("a\0b\r\n\xff", 6);
  write_file_atomic(folder_ / "deep" / "er" / "file", content);
  EXPECT_EQ(read_file(folder_ / "deep" / "er" / "file"), content);
  const MappedFile mapped(folder_ / "deep" / "er" / "file");
  EXPECT_EQ(mapped.text(), content);
  EXPECT_EQ(mapped.bytes().size(), 6);
  EXPECT_EQ(mapped.path(), folder_ / "deep" / "er" / "file");
}

TEST_F(FileTest, AnEmptyFileIsAnEmptyView) {
  write_file_atomic(folder_ / "empty", "");
  EXPECT_EQ(MappedFile(folder_ / "empty").text(), "");
  EXPECT_EQ(read_file(folder_ / "empty"), "");
}

TEST_F(FileTest, MovingKeepsTheBytes) {
  write_file_atomic(folder_ / "one", "first");
  write_file_atomic(folder_ / "two", "second");
  MappedFile one(folder_ / "one");
  MappedFile moved(std::move(one));
  EXPECT_EQ(moved.text(), "first");
  EXPECT_EQ(one.size(), 0);  // NOLINT(bugprone-use-after-move): the state is documented as empty
  moved = MappedFile(folder_ / "two");
  EXPECT_EQ(moved.text(), "second");
  EXPECT_EQ(moved.path(), folder_ / "two");
}

TEST_F(FileTest, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(reason_of([&] { MappedFile(folder_ / "absent"); }), Reason::unreadable_file);
  EXPECT_EQ(reason_of([&] { MappedFile{folder_}; }), Reason::unreadable_file);
  EXPECT_EQ(reason_of([&] { read_file(folder_ / "absent" / "file"); }), Reason::unreadable_file);
}

TEST_F(FileTest, APipeIsRefusedWithoutWaiting) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(reason_of([&] { MappedFile{pipe}; }), Reason::unreadable_file);
}

TEST_F(FileTest, WritingReplacesAndLeavesNothingBeside) {
  write_file_atomic(folder_ / "file", "a longer first content");
  write_file_atomic(folder_ / "file", "second");
  EXPECT_EQ(read_file(folder_ / "file"), "second");
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, AnOpenMappingKeepsTheOldContent) {
  write_file_atomic(folder_ / "file", "old");
  const MappedFile mapped(folder_ / "file");
  write_file_atomic(folder_ / "file", "brand new");
  EXPECT_EQ(mapped.text(), "old");
}

TEST_F(FileTest, WhatCannotBeWrittenIsNamedAndLeavesNothing) {
  fs::create_directories(folder_ / "taken" / "inside");
  EXPECT_EQ(reason_of([&] { write_file_atomic(folder_ / "taken", "x"); }),
            Reason::unwritable_output);
  EXPECT_EQ(entries(), 1);
  write_file_atomic(folder_ / "file", "x");
  EXPECT_EQ(reason_of([&] { write_file_atomic(folder_ / "file" / "below", "x"); }),
            Reason::unwritable_output);
  EXPECT_EQ(reason_of([&] { make_folder(folder_ / "file"); }), Reason::unwritable_output);
  EXPECT_EQ(reason_of([&] { write_file_atomic("/dev/full/x", "x"); }), Reason::unwritable_output);
}

TEST_F(FileTest, ReadersSeeWholeContentsOnly) {
  const std::string even(100000, 'e');
  const std::string odd(70001, 'o');
  write_file_atomic(folder_ / "file", even);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 50; ++i) write_file_atomic(folder_ / "file", i % 2 == 0 ? odd : even);
    done = true;
  });
  while (!done) {
    const std::string content = read_file(folder_ / "file");
    EXPECT_TRUE(content == even || content == odd) << content.size();
  }
  writer.join();
}

TEST_F(FileTest, MakeFolderMakesParentsAndTakesExistingOnes) {
  make_folder(folder_ / "a" / "b");
  make_folder(folder_ / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b"));
}

TEST_F(FileTest, TheCacheFolderFollowsTheEnvironment) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const std::string cache_before = cache == nullptr ? "" : cache;
  const char* home = std::getenv("HOME");
  const std::string home_before = home == nullptr ? "" : home;
  ::setenv("XDG_CACHE_HOME", "/somewhere", 1);
  EXPECT_EQ(user_cache_folder(), "/somewhere/skyfix");
  ::setenv("XDG_CACHE_HOME", "", 1);
  ::setenv("HOME", "/home/pilot", 1);
  EXPECT_EQ(user_cache_folder(), "/home/pilot/.cache/skyfix");
  ::unsetenv("HOME");
  EXPECT_EQ(user_cache_folder(), fs::temp_directory_path() / "skyfix-cache");
  ::setenv("HOME", home_before.c_str(), 1);
  ::setenv("XDG_CACHE_HOME", cache_before.c_str(), 1);
}

}  // namespace
}  // namespace skyfix
