#include "skyfix/report/depth_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "skyfix/base/file.h"
#include "skyfix/base/npy.h"
#include "skyfix/image/image.h"
#include "skyfix/report/testing.h"

namespace skyfix {
namespace {

using report_testing::scratch_folder;

std::uint32_t u32_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

// A reader of its own: chunks, inflation, filter 1.
std::vector<int> samples_of(const std::string& png, int width, int height) {
  std::string packed;
  for (std::size_t at = 8; at + 12 <= png.size(); at += 12 + u32_at(png, at)) {
    if (png.substr(at + 4, 4) == "IDAT") packed += png.substr(at + 8, u32_at(png, at));
  }
  std::string rows(std::size_t(height) * (2 * width + 1), '\0');
  uLongf size = rows.size();
  EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                         reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  std::vector<int> samples;
  for (int y = 0; y < height; ++y) {
    std::string row = rows.substr(std::size_t(y) * (2 * width + 1), 2 * width + 1);
    EXPECT_EQ(row[0], 1);
    for (std::size_t i = 3; i < row.size(); ++i) row[i] = static_cast<char>(row[i] + row[i - 2]);
    for (int x = 0; x < width; ++x) {
      samples.push_back(static_cast<std::uint8_t>(row[1 + 2 * x]) << 8 |
                        static_cast<std::uint8_t>(row[2 + 2 * x]));
    }
  }
  return samples;
}

TEST(DepthFile, PngHoldsDepthToHalfAStep) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> any(0.01f, 9);
  std::vector<float> depth(std::size_t(31) * 17);
  for (float& value : depth) value = any(random);
  depth[5] = 0;
  depth[6] = std::nanf("");
  depth[7] = std::numeric_limits<float>::infinity();
  depth[8] = -1;
  depth[9] = 1e-9f;  // not none
  const EncodedDepth encoded = encode_depth(depth, 31, 17, DepthFormat::png);
  const std::vector<int> samples = samples_of(encoded.bytes, 31, 17);
  EXPECT_NEAR(encoded.units_per_step, 9.0 / 65535, 1e-5);
  for (std::size_t i = 0; i < depth.size(); ++i) {
    if (i >= 5 && i <= 8) {
      EXPECT_EQ(samples[i], 0);
    } else {
      EXPECT_GE(samples[i], 1);
      EXPECT_LE(std::abs(samples[i] * encoded.units_per_step - depth[i]),
                (i == 9 ? 1.0 : 0.500001) * encoded.units_per_step);
    }
  }
  EXPECT_THAT(encoded.bytes, ::testing::HasSubstr(std::string("skyfix_units_per_step") + '\0'));
}

TEST(DepthFile, OtherReadersTakeThePng) {
  const std::vector<float> depth{0.5f, 1, 0, 2, 4, 8};
  const EncodedDepth encoded = encode_depth(depth, 3, 2, DepthFormat::png);
  const auto bytes = std::as_bytes(std::span(encoded.bytes));
  const Image image = decode_image_bytes(bytes);
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.pixels.back(), 255);
  EXPECT_EQ(image.pixels[2], 0);
  const EncodedDepth none = encode_depth(std::vector<float>(4, 0), 2, 2, DepthFormat::png);
  EXPECT_EQ(none.units_per_step, 1);
}

TEST(DepthFile, NpyHoldsTheFloats) {
  const std::vector<float> depth{0.5f, 1, 0, 2, 4, 1.0f / 3};
  const auto file = scratch_folder() / "d.npy";
  write_file_atomic(file, encode_depth(depth, 3, 2, DepthFormat::npy).bytes);
  const NpyFile read(file);
  EXPECT_EQ(read.shape(), (std::vector<std::size_t>{2, 3}));
  EXPECT_THAT(read.as<float>(), ::testing::ElementsAreArray(depth));
}

TEST(DepthFile, NamesAreTheFrames) {
  EXPECT_EQ(depth_path("0001.png", DepthFormat::png, false), "depth/0001.png");
  EXPECT_EQ(depth_path("a/b.JPG", DepthFormat::npy, false), "depth/a/b.npy");
  EXPECT_EQ(depth_path("b.JPG", DepthFormat::png, true), "depth/b.JPG.png");
  EXPECT_EQ(depth_path("clip.mp4#000012", DepthFormat::png, false), "depth/clip.mp4#000012.png");
  EXPECT_EQ(depth_path("../x.jpg", DepthFormat::png, false), "depth/%2E%2E/x.png");
  EXPECT_EQ(depth_format_from_name("npy"), DepthFormat::npy);
  EXPECT_THROW(depth_format_from_name("exr"), Error);
}

}  // namespace
}  // namespace skyfix
