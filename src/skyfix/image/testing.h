// Shared by this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/image/image.h"

namespace skyfix::testing_image {

inline Image blank(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  image.pixels.resize(std::size_t(width) * height * channels);
  return image;
}

// Soft waves, different in each channel and without any symmetry: JPEG keeps them well, and a
// mirrored, turned or shifted copy is far from them.
inline Image waves(int width, int height, int channels) {
  Image image = blank(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double u = 2.0 * x / width + 0.3 * c;
        const double v = 3.0 * y / height + 0.5 * u;
        image.row(y)[x * channels + c] =
            static_cast<std::uint8_t>(std::lround(128 + 60 * std::sin(3 * u) + 60 * std::cos(v)));
      }
    }
  }
  return image;
}

inline double mean_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.channels, b.channels);
  if (a.pixels.size() != b.pixels.size() || a.pixels.empty()) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    sum += std::abs(int{a.pixels[i]} - int{b.pixels[i]});
  }
  return sum / static_cast<double>(a.pixels.size());
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The reason of the Error that `work` throws; nothing if it does not.
template <class Work>
std::optional<Reason> reason_thrown_by(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_FALSE(error.message().empty());
    return error.reason();
  }
  return std::nullopt;
}

// A fresh folder for one test.
inline std::filesystem::path scratch(const std::string& name) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / ("skyfix-image-" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

// The reference photos' folder; nothing (and a skipped test) where it is not there.
inline std::optional<std::filesystem::path> brighton_photos() {
  const std::filesystem::path folder =
      std::filesystem::path(SKYFIX_SHARED_DIR) / "data/brighton/images/query";
  if (std::filesystem::is_directory(folder)) return folder;
  const char* ci = std::getenv("CI");
  EXPECT_FALSE(ci != nullptr && std::string(ci) == "true") << "missing: " << folder;
  return std::nullopt;
}

}  // namespace skyfix::testing_image

#define SKYFIX_REQUIRE_PHOTOS(folder)                           \
  const auto folder = skyfix::testing_image::brighton_photos(); \
  if (!folder) GTEST_SKIP() << "NOT TESTED: the reference photos (../shared/data) are missing"
