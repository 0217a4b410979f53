#include "skyfix/nn/resample.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

#include "skyfix/base/parallel.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

BytePicture noise(int width, int height, int channels) {
  std::mt19937 generator(7);
  BytePicture picture{{}, width, height, channels};
  picture.pixels.resize(std::size_t(width) * height * channels);
  for (std::uint8_t& pixel : picture.pixels) pixel = static_cast<std::uint8_t>(generator());
  return picture;
}

BytePicture golden_picture(const TensorSource& goldens, const std::string& name) {
  const StoredTensor* stored = goldens.find(name);
  if (stored == nullptr || stored->type != ElementType::u8) {
    throw std::runtime_error("no golden of 8 bits: " + name);
  }
  const auto* first = reinterpret_cast<const std::uint8_t*>(stored->bytes.data());
  return {{first, first + stored->bytes.size()},
          int(stored->shape[1]),
          int(stored->shape[0]),
          int(stored->shape[2])};
}

TEST(Resample, EqualsTheGoldensBitForBit) {
  const auto file =
      std::filesystem::path(SKYFIX_SHARED_DIR) / "goldens/mast3r/preprocess.safetensors";
  if (!std::filesystem::exists(file)) {
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string_view(ci) == "true") FAIL() << "there is no " << file;
    GTEST_SKIP() << "there is no " << file;
  }
  const auto goldens = open_tensor_file(file);
  int cases = 0, bicubic = 0;
  for (const std::string& name : goldens->names()) {
    if (!name.ends_with(".source")) continue;
    SCOPED_TRACE(name);
    const BytePicture source = golden_picture(*goldens, name);
    const std::string stem = name.substr(0, name.rfind('.'));
    const BytePicture resized = golden_picture(*goldens, stem + ".resized");
    const bool smaller =
        std::max(source.width, source.height) > std::max(resized.width, resized.height);
    const BytePicture found = resample(source.view(), resized.width, resized.height,
                                       smaller ? ResampleFilter::lanczos : ResampleFilter::bicubic);
    EXPECT_EQ(found.pixels, resized.pixels);
    ++cases;
    bicubic += !smaller && source.width != resized.width;
  }
  EXPECT_EQ(cases, 9);
  EXPECT_GE(bicubic, 1);
}

TEST(Resample, KeepsAConstant) {
  BytePicture grey{std::vector<std::uint8_t>(40 * 30, 137), 40, 30, 1};
  for (const ResampleFilter filter : {ResampleFilter::bicubic, ResampleFilter::lanczos}) {
    EXPECT_THAT(resample(grey.view(), 17, 61, filter).pixels, Each(137));
  }
}

TEST(Resample, KeepsAPictureOfTheSameSize) {
  const BytePicture picture = noise(23, 11, 3);
  EXPECT_EQ(resample(picture.view(), 23, 11, ResampleFilter::lanczos).pixels, picture.pixels);
}

TEST(Resample, TakesTheTwoPassesApart) {
  const BytePicture picture = noise(50, 40, 3);
  const BytePicture wide = resample(picture.view(), 20, 40, ResampleFilter::lanczos);
  EXPECT_EQ(resample(wide.view(), 20, 15, ResampleFilter::lanczos).pixels,
            resample(picture.view(), 20, 15, ResampleFilter::lanczos).pixels);
}

TEST(Resample, TakesEachChannelForItself) {
  const BytePicture colours = noise(37, 29, 3);
  const BytePicture all = resample(colours.view(), 16, 45, ResampleFilter::bicubic);
  for (int channel = 0; channel < 3; ++channel) {
    BytePicture one{{}, 37, 29, 1};
    for (std::size_t i = channel; i < colours.pixels.size(); i += 3) {
      one.pixels.push_back(colours.pixels[i]);
    }
    const BytePicture alone = resample(one.view(), 16, 45, ResampleFilter::bicubic);
    for (std::size_t i = 0; i < alone.pixels.size(); ++i) {
      ASSERT_EQ(alone.pixels[i], all.pixels[3 * i + channel]);
    }
  }
}

TEST(Resample, TakesThePixelsOfOne) {
  const std::uint8_t pixel[] = {9, 250, 77};
  const BytePicture large = resample({pixel, 1, 1, 3}, 5, 4, ResampleFilter::bicubic);
  ASSERT_EQ(large.pixels.size(), 60);
  for (std::size_t i = 0; i < large.pixels.size(); ++i) EXPECT_EQ(large.pixels[i], pixel[i % 3]);
  EXPECT_THAT(resample(large.view(), 1, 1, ResampleFilter::lanczos).pixels,
              ElementsAre(9, 250, 77));
}

TEST(Resample, CutsOvershootsOff) {
  // A step: cubic and Lanczos lobes go beyond both ends of 8 bits.
  BytePicture step{std::vector<std::uint8_t>(64, 0), 64, 1, 1};
  std::fill(step.pixels.begin() + 32, step.pixels.end(), 255);
  const BytePicture found = resample(step.view(), 150, 1, ResampleFilter::lanczos);
  EXPECT_EQ(found.pixels.front(), 0);
  EXPECT_EQ(found.pixels.back(), 255);
  for (int i = 0; i < 60; ++i) EXPECT_LT(found.pixels[i], 32) << i;
  for (int i = 90; i < 150; ++i) EXPECT_GT(found.pixels[i], 223) << i;
}

TEST(Resample, DoesNotDependOnThreads) {
  const BytePicture picture = noise(300, 200, 3);
  const std::size_t threads = thread_count();
  set_thread_count(1);
  const BytePicture one = resample(picture.view(), 90, 70, ResampleFilter::lanczos);
  set_thread_count(threads);
  EXPECT_EQ(resample(picture.view(), 90, 70, ResampleFilter::lanczos).pixels, one.pixels);
}

TEST(Crop, TakesARectangle) {
  const std::uint8_t pixels[] = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23};
  const BytePicture part = crop({pixels, 4, 3, 1}, 1, 1, 2, 2);
  EXPECT_EQ(part.width, 2);
  EXPECT_EQ(part.height, 2);
  EXPECT_THAT(part.pixels, ElementsAre(11, 12, 21, 22));
}

}  // namespace
}  // namespace skyfix
