#include <gmock/gmock.h>

#include "skyfix/base/file.h"
#include "skyfix/frames/input_list.h"
#include "skyfix/frames/testing.h"

namespace skyfix {
namespace {

using namespace testing_frames;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<SourceFrame>& frames) {
  std::vector<std::string> names;
  for (const SourceFrame& frame : frames) names.push_back(frame.name);
  return names;
}

TEST(PhotoSource, AFolderInNaturalOrder) {
  const Folder folder;
  for (const char* name : {"p10.png", "p2.png", "p1.png"}) {
    write_png(folder / name, quarters(20, 10));
  }
  write_file_atomic(folder / "notes.md", "x");
  const auto source = open_frames({.input = folder.path()});
  EXPECT_EQ(source->info().kind, FrameSourceKind::folder);
  EXPECT_EQ(source->info().frames, 3);
  EXPECT_EQ(source->info().width, 20);
  EXPECT_EQ(source->info().height, 10);
  EXPECT_EQ(source->info().ignored_files, 1);
  EXPECT_THAT(source->info().notes, ElementsAre(HasSubstr("natural order")));
  const auto frames = all_of(*source);
  EXPECT_THAT(names_of(frames), ElementsAre("p1.png", "p2.png", "p10.png"));
  EXPECT_EQ(frames[2].index, 3);
  EXPECT_EQ(frames[2].file, folder / "p10.png");
  EXPECT_TRUE(frames[0].pixels.pixels.empty());
  EXPECT_FALSE(frames[0].time_ns);
  EXPECT_EQ(upright_rgb(frames[0]).pixels, quarters(20, 10).pixels);
  EXPECT_EQ(source->figures().given, 3);
}

TEST(PhotoSource, RangeAndStride) {
  const Folder folder;
  for (int i = 1; i <= 9; ++i) write_file_atomic(folder / (std::to_string(i) + ".png"), "x");
  const auto source = open_frames({.input = folder.path(), .stride = 3, .first = 2, .last = 8});
  EXPECT_EQ(source->info().frames, 3);
  EXPECT_EQ(source->info().width, 0) << "none can be read";
  EXPECT_THAT(names_of(all_of(*source)), ElementsAre("2.png", "5.png", "8.png"));
  EXPECT_EQ(error_of([&] { open_frames({.input = folder.path(), .first = 10}); }).first,
            Reason::bad_option);
  EXPECT_EQ(error_of([&] { open_frames({.input = folder.path(), .fps = 2}); }).first,
            Reason::bad_option);
}

TEST(PhotoSource, ListAndSinglePhoto) {
  const Folder folder;
  write_png(folder / "a.png", quarters());
  write_file_atomic(folder / "list.txt", "a.png\n");
  EXPECT_EQ(open_frames({.input = folder / "list.txt"})->info().kind, FrameSourceKind::list);
  const auto photo = open_frames({.input = folder / "a.png"});
  EXPECT_EQ(photo->info().kind, FrameSourceKind::photo);
  EXPECT_EQ(photo->info().width, 64);
}

TEST(PhotoSource, ConfigurationTellsReplacedPhotos) {
  const Folder folder;
  write_png(folder / "a.png", quarters());
  const std::string before = open_frames({.input = folder.path()})->info().configuration;
  EXPECT_EQ(open_frames({.input = folder.path()})->info().configuration, before);
  write_png(folder / "a.png", quarters(65, 48));
  EXPECT_NE(open_frames({.input = folder.path()})->info().configuration, before);
}

TEST(PhotoSource, StopEndsIt) {
  const auto source = photo_frames({{"a", "a", 1}, {"b", "b", 2}});
  EXPECT_TRUE(source->next());
  source->stop();
  EXPECT_FALSE(source->next());
}

}  // namespace
}  // namespace skyfix
