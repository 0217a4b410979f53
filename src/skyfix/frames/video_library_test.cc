#include "skyfix/frames/video_library.h"

#include <gmock/gmock.h>

#include "skyfix/frames/testing.h"

namespace skyfix {
namespace {

using ::testing::HasSubstr;

TEST(VideoLibrary, LiesBesideTheProgram) {
  const VideoLibrary& library = VideoLibrary::instance();
  EXPECT_TRUE(library.loaded()) << library.why_not();
  EXPECT_EQ(library.path().filename(), "libskyfix_video.so");
  EXPECT_THAT(library.versions(), HasSubstr("libavcodec"));
  EXPECT_TRUE(library.why_not().empty());
}

// In a process of its own: the library is opened once.
TEST(VideoLibraryDeathTest, WithoutItVideosAreRefusedWithTheRemedy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto opens = [](const char* library) {
    ::setenv("SKYFIX_VIDEO_LIBRARY", library, 1);
    try {
      open_frames({.input = "rtsp://127.0.0.1:9/x"});
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::exit(error.reason() == Reason::bad_option ? 3 : 4);
    }
    std::exit(0);
  };
  EXPECT_EXIT(opens("/nowhere/libskyfix_video.so"), ::testing::ExitedWithCode(3),
              "no video part.*do without");
  // A library that opens and is not ours.
  EXPECT_EXIT(opens("/lib/x86_64-linux-gnu/libm.so.6"), ::testing::ExitedWithCode(3),
              "another version");
}

}  // namespace
}  // namespace skyfix
