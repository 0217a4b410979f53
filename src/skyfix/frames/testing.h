// Shared by this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "skyfix/frames/frame_source.h"

namespace skyfix::testing_frames {

// A folder for the running test, removed with it.
class Folder {
 public:
  Folder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(::testing::TempDir()) /
            (std::string("skyfix_frames_") + test->test_suite_name() + "_" + test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A picture with another colour in each of its quarters, told apart after any compression.
inline Image quarters(int width = 64, int height = 48) {
  constexpr std::uint8_t kColours[4][3] = {
      {200, 40, 40}, {40, 180, 60}, {50, 60, 210}, {220, 210, 60}};
  Image image{width, height, 3, {}};
  image.pixels.reserve(std::size_t(width) * height * 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto& colour = kColours[(y >= height / 2 ? 2 : 0) + (x >= width / 2 ? 1 : 0)];
      image.pixels.insert(image.pixels.end(), colour, colour + 3);
    }
  }
  return image;
}

inline std::vector<SourceFrame> all_of(FrameSource& source) {
  std::vector<SourceFrame> frames;
  while (auto frame = source.next()) frames.push_back(std::move(*frame));
  return frames;
}

// Frames made up by a function; it may throw.
class MadeUpSource : public FrameSource {
 public:
  explicit MadeUpSource(std::function<std::optional<SourceFrame>(std::int64_t)> make)
      : make_(std::move(make)) {}
  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    auto frame = make_(figures_.given + 1);
    if (frame) ++figures_.given;
    return frame;
  }
  FrameSourceFigures figures() const override { return figures_; }

 private:
  std::function<std::optional<SourceFrame>(std::int64_t)> make_;
  FrameSourceInfo info_;
  FrameSourceFigures figures_;
};

// The Error's reason and text; fails where nothing is thrown.
template <class Work>
std::pair<Reason, std::string> error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.reason(), error.message()};
  }
  ADD_FAILURE() << "no error";
  return {Reason::internal, ""};
}

}  // namespace skyfix::testing_frames
