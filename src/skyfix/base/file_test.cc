#include "skyfix/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
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

TEST_F(FileTest, PiecesAreWrittenOneBehindTheOther) {
  const std::string_view pieces[] = {"ab", "", "c"};
  write_file_atomic(folder_ / "file", pieces);
  EXPECT_EQ(read_file(folder_ / "file"), "abc");
  EXPECT_EQ(entries(), 1u);
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

TEST_F(FileTest, ALinkStaysAndItsTargetIsWritten) {
  fs::create_directories(folder_ / "there");
  write_file_atomic(folder_ / "there" / "file", "old");
  fs::create_symlink("there/file", folder_ / "link");
  fs::create_symlink("link", folder_ / "link to link");
  fs::create_symlink(folder_ / "there" / "absent", folder_ / "dangling");
  fs::create_symlink("there", folder_ / "folder");
  write_file_atomic(folder_ / "link to link", "new");
  write_file_atomic(folder_ / "dangling", "made");
  write_file_atomic(folder_ / "folder" / "third", "3");
  EXPECT_EQ(read_file(folder_ / "there" / "file"), "new");
  EXPECT_EQ(read_file(folder_ / "there" / "absent"), "made");
  EXPECT_EQ(read_file(folder_ / "there" / "third"), "3");
  for (const char* name : {"link", "link to link", "dangling", "folder"}) {
    EXPECT_TRUE(fs::is_symlink(folder_ / name)) << name;
  }
  EXPECT_EQ(entries(), 5);
  fs::create_symlink("round", folder_ / "round");
  EXPECT_EQ(reason_of([&] { write_file_atomic(folder_ / "round", "x"); }),
            Reason::unwritable_output);
}

TEST_F(FileTest, APipeIsWrittenInto) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string content(200000, 'x');  // more than a pipe holds
  std::string got;
  std::thread reader([&] {
    std::ifstream in(pipe, std::ios::binary);
    got.assign(std::istreambuf_iterator<char>(in), {});
  });
  write_file_atomic(pipe, content);
  reader.join();
  EXPECT_TRUE(got == content) << got.size();
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, ADeviceIsWrittenInto) {
  fs::create_symlink("/dev/null", folder_ / "nothing");
  write_file_atomic("/dev/null", "x");
  write_file_atomic(folder_ / "nothing", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "nothing"));
  EXPECT_EQ(reason_of([&] { write_file_atomic("/dev/full", "x"); }), Reason::unwritable_output);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// As /dev/stdout of a program whose output goes to a file: the file is not replaced under it.
TEST_F(FileTest, AnOpenDescriptorIsWrittenWhereItStands) {
  write_file_atomic(folder_ / "file", "");
  const int fd = ::open((folder_ / "file").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::write(fd, "before ", 7), 7);
  write_file_atomic("/dev/fd/" + std::to_string(fd), "content");
  fs::create_symlink("/proc/self/fd/" + std::to_string(fd), folder_ / "link");
  GrowingOutput(folder_ / "link", std::cout).write(" more");
  ASSERT_EQ(::write(fd, " after", 6), 6);
  ::close(fd);
  EXPECT_EQ(read_file(folder_ / "file"), "before content more after");
}

TEST_F(FileTest, ReplacingKeepsThePermissions) {
  write_file_atomic(folder_ / "file", "old");
  fs::permissions(folder_ / "file", fs::perms(0640));
  write_file_atomic(folder_ / "file", "new");
  EXPECT_EQ(fs::status(folder_ / "file").permissions(), fs::perms(0640));
}

TEST_F(FileTest, AUsersOutputGoesToAFileOrToStandardOutput) {
  std::ostringstream standard_output;
  write_output("-", "one", standard_output);
  write_output(folder_ / "file", "two", standard_output);
  EXPECT_EQ(standard_output.str(), "one");
  EXPECT_EQ(read_file(folder_ / "file"), "two");
  GrowingOutput("-", standard_output).write(", three");
  GrowingOutput("", standard_output).write("nothing");
  EXPECT_EQ(standard_output.str(), "one, three");
  standard_output.setstate(std::ios::badbit);
  EXPECT_THROW(write_output("-", "x", standard_output), Error);
  EXPECT_FALSE(fs::exists("-"));
}

TEST_F(FileTest, AUsersOutputIsNotPutIntoAFolderThatIsNotThere) {
  fs::create_symlink("absent/file", folder_ / "dangling");
  for (const char* name : {"absent/file", "dangling"}) {
    EXPECT_EQ(reason_of([&] { write_output(folder_ / name, "x", std::cout); }),
              Reason::unwritable_output);
    EXPECT_EQ(reason_of([&] { GrowingOutput(folder_ / name, std::cout); }),
              Reason::unwritable_output);
  }
  EXPECT_FALSE(fs::exists(folder_ / "absent"));
}

TEST_F(FileTest, GrowingOutputIsThereAtOnce) {
  write_file_atomic(folder_ / "file", "an old and longer content");
  fs::create_symlink("file", folder_ / "link");
  GrowingOutput out(folder_ / "link", std::cout);
  out.write("a,b\n");
  EXPECT_EQ(read_file(folder_ / "file"), "a,b\n");
  out.write("1,2\n");
  EXPECT_EQ(read_file(folder_ / "file"), "a,b\n1,2\n");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
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
