// Videos made by the program ffmpeg, for this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "skyfix/frames/testing.h"

namespace skyfix::testing_frames {

inline bool have_ffmpeg() {
  static const bool found = std::system("ffmpeg -version >/dev/null 2>&1") == 0;
  const char* ci = std::getenv("CI");
  EXPECT_FALSE(!found && ci != nullptr && std::string(ci) == "true") << "ffmpeg is missing";
  return found;
}

// Frame `index` of the tests' videos, from 1: its brightness tells which it is.
inline std::uint8_t brightness(std::int64_t index) {
  return static_cast<std::uint8_t>(30 + (index * 9) % 190);
}
inline Image numbered_picture(std::int64_t index, int width = 96, int height = 64) {
  Image image = quarters(width, height);
  for (int y = height / 4; y < height / 2; ++y) {
    for (int x = 0; x < width * 3 / 2; ++x) image.row(y)[x] = brightness(index);
  }
  return image;
}
// What the picture says about its index: how far its grey patch is from the one expected.
inline int brightness_error(const Image& image, std::int64_t index) {
  const std::uint8_t* pixel = image.row(image.height * 3 / 8) + (image.width / 4) * 3;
  int worst = 0;
  for (int c = 0; c < 3; ++c) worst = std::max(worst, std::abs(pixel[c] - brightness(index)));
  return worst;
}

// Encodes numbered pictures at 25 frames a second; `arguments` stand before the output's name.
inline void make_video(const std::filesystem::path& file, int frames, const std::string& arguments,
                       int width = 96, int height = 64) {
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  const std::string command = "ffmpeg -v error -y -f rawvideo -pix_fmt rgb24 -r 25 -s " + size +
                              " -i - " + arguments + " '" + file.string() + "'";
  FILE* pipe = ::popen(command.c_str(), "w");
  ASSERT_NE(pipe, nullptr);
  for (int i = 1; i <= frames; ++i) {
    const Image picture = numbered_picture(i, width, height);
    std::fwrite(picture.pixels.data(), 1, picture.pixels.size(), pipe);
  }
  ASSERT_EQ(::pclose(pipe), 0) << command;
}

}  // namespace skyfix::testing_frames

#define SKYFIX_REQUIRE_FFMPEG()                    \
  if (!skyfix::testing_frames::have_ffmpeg())      \
  GTEST_SKIP() << "NOT TESTED: no ffmpeg to make " \
                  "videos"
