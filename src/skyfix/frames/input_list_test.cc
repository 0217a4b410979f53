#include "skyfix/frames/input_list.h"

#include <gmock/gmock.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InputListTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("input_list_" +
               std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void add(const std::string& name, const std::string& text = "x") {
    write_file_atomic(folder_ / name, text);
  }
  static std::vector<std::string> names(const InputList& list) {
    std::vector<std::string> names;
    for (const InputPhoto& photo : list.photos) names.push_back(photo.name);
    return names;
  }
  static std::string failure(const fs::path& input, Reason reason) {
    try {
      list_input(input);
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), reason);
      return error.what();
    }
    ADD_FAILURE() << "no error for " << input;
    return "";
  }
  fs::path folder_;
};

TEST_F(InputListTest, FolderInNaturalOrderWithSubFolders) {
  for (const char* name : {"DJI_10.JPG", "DJI_2.jpg", "site 3/a b.png", "x.tiff"}) add(name);
  const InputList list = list_input(folder_);
  EXPECT_THAT(names(list), ElementsAre("DJI_2.jpg", "DJI_10.JPG", "site 3/a b.png", "x.tiff"));
  EXPECT_TRUE(list.differs_from_text_order);
  EXPECT_EQ(list.photos[2].index, 3);
}

TEST_F(InputListTest, SideFilesAndOtherKindsAreCounted) {
  for (const char* name : {"a.jpg", "._a.jpg", ".hidden.jpg", "notes.txt", "a.srt"}) add(name);
  add(".thumbs/b.jpg");
  const InputList list = list_input(folder_);
  EXPECT_THAT(names(list), ElementsAre("a.jpg"));
  EXPECT_EQ(list.ignored_files, 4);
}

TEST_F(InputListTest, EmptyFolderSaysWhatWasLookedFor) {
  add("readme.md");
  EXPECT_THAT(failure(folder_, Reason::no_input), HasSubstr(".jpg"));
}

TEST_F(InputListTest, MissingInput) { failure(folder_ / "nowhere", Reason::unreadable_file); }

TEST_F(InputListTest, OneFile) {
  add("photo.jpg");
  EXPECT_THAT(names(list_input(folder_ / "photo.jpg")), ElementsAre("photo.jpg"));
}

TEST_F(InputListTest, ListWithBlanksCommentsAndCarriageReturns) {
  add("p/a b.jpg");
  add("p/c.jpg");
  add("list.txt", "\xEF\xBB\xBF# photos\r\np/c.jpg\r\n\r\np/a b.jpg\r\n");
  EXPECT_THAT(names(list_input(folder_ / "list.txt")), ElementsAre("p/a b.jpg", "p/c.jpg"));
}

TEST_F(InputListTest, HlocQueryListNamesItsFirstColumn) {
  add("q.jpg");
  add("list.txt", "q.jpg SIMPLE_PINHOLE 100 80 90 50 40\n");
  EXPECT_THAT(names(list_input(folder_ / "list.txt")), ElementsAre("q.jpg"));
}

TEST_F(InputListTest, ListErrorsNameTheLine) {
  add("a.jpg");
  add("list.txt", "a.jpg\nmissing.jpg\n");
  EXPECT_THAT(failure(folder_ / "list.txt", Reason::bad_list), HasSubstr("line 2"));
  add("twice.txt", "a.jpg\na.jpg\n");
  EXPECT_THAT(failure(folder_ / "twice.txt", Reason::bad_list), HasSubstr("twice"));
  add("empty.txt", "# nothing\n");
  failure(folder_ / "empty.txt", Reason::no_input);
}

TEST_F(InputListTest, LinksInCirclesAreFollowedOnce) {
  add("a/x.jpg");
  std::filesystem::create_directory_symlink(folder_, folder_ / "a/loop");
  EXPECT_THAT(names(list_input(folder_)), ElementsAre("a/x.jpg"));
}

TEST_F(InputListTest, EqualBaseNamesElsewhereAreTwoPhotos) {
  add("A/p.jpg");
  add("B/p.jpg");
  add("lists/l.txt", (folder_ / "A/p.jpg").string() + "\n" + (folder_ / "B/p.jpg").string() + "\n");
  const InputList list = list_input(folder_ / "lists/l.txt");
  ASSERT_EQ(list.photos.size(), 2u);
  EXPECT_NE(list.photos[0].name, list.photos[1].name);
}

TEST_F(InputListTest, RangeCountsFromOneAndIncludesBothEnds) {
  for (const char* name : {"1.jpg", "2.jpg", "3.jpg", "4.jpg"}) add(name);
  InputList list = list_input(folder_);
  select_range(list, 2, 3);
  EXPECT_THAT(names(list), ElementsAre("2.jpg", "3.jpg"));
  EXPECT_EQ(list.photos.front().index, 2);
  list = list_input(folder_);
  select_range(list, 3, -1);
  EXPECT_THAT(names(list), ElementsAre("3.jpg", "4.jpg"));
  for (const auto& [first, last] : {std::pair{0, 2}, {5, -1}, {3, 2}, {1, 0}, {1, -2}}) {
    list = list_input(folder_);
    EXPECT_THROW(select_range(list, first, last), Error) << first << " " << last;
  }
}

}  // namespace
}  // namespace skyfix
