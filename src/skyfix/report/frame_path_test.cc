#include "skyfix/report/frame_path.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

TEST(FramePath, KeepsOrdinaryNamesAndFolders) {
  EXPECT_EQ(frame_record_path("DJI_0020.JPG"), "frames/DJI_0020.JPG.json");
  EXPECT_EQ(frame_record_path("day 1/left/ä 100%.jpg"), "frames/day 1/left/ä 100%.jpg.json");
}

TEST(FramePath, NeverLeavesTheRunFolder) {
  const std::vector<std::string> names = {"../../etc/passwd",
                                          "/etc/passwd",
                                          "a/../../b",
                                          "..",
                                          ".",
                                          "",
                                          "/",
                                          "a//b",
                                          "./a",
                                          "a/./b",
                                          "a/",
                                          "..\\..\\",
                                          "a\nb",
                                          "%2E%2E/a",
                                          "../a",
                                          "%2e%2e/a",
                                          "//a",
                                          "/a/",
                                          "a/b",
                                          "a/%2F/b",
                                          "%2F/a",
                                          "%/a",
                                          "%%2F/a",
                                          "a\x7F",
                                          "%5C",
                                          "\\",
                                          "a%0Ab"};
  std::set<std::filesystem::path> paths;
  for (const std::string& name : names) {
    const std::filesystem::path path = frame_record_path(name);
    EXPECT_TRUE(path.is_relative()) << name;
    EXPECT_EQ(path, path.lexically_normal()) << name;
    EXPECT_EQ(*path.begin(), "frames") << name;
    EXPECT_TRUE(path.string().ends_with(".json")) << name;
    EXPECT_TRUE(paths.insert(path).second) << "two names share " << path;
  }
}

TEST(FramePath, LongNamesFitTheFileSystemAndStayApart) {
  const std::string end(400, 'x');
  const auto one = frame_record_path("1/" + end + "1");
  const auto two = frame_record_path("1/" + end + "2");
  EXPECT_NE(one, two);
  const std::filesystem::path folder = report_testing::scratch_folder();
  std::filesystem::create_directories((folder / one).parent_path());
  EXPECT_TRUE(std::ofstream(folder / (one.string() + ".partial-1234567890-12345")).good());
}

}  // namespace
}  // namespace skyfix
