#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <utility>

#include "skyfix/image/image.h"
#include "skyfix/image/testing.h"

namespace skyfix {
namespace {

using namespace testing_image;

TEST(Transform, QuarterTurnMovesTheTopLeftPixelToTheTopRight) {
  const Image picture = waves(5, 3, 3);
  const Image turned = turn(picture, 1);
  ASSERT_EQ(turned.width, 3);
  ASSERT_EQ(turned.height, 5);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(turned.row(x)[(2 - y) * 3 + c], picture.row(y)[x * 3 + c]);
      }
    }
  }
}

TEST(Transform, TurnsAddUpAndLoseNothing) {
  const Image picture = waves(7, 4, 1);
  Image turned = picture;
  for (int quarters = 1; quarters <= 4; ++quarters) {
    turned = turn(turned, 1);
    EXPECT_EQ(turned.pixels, turn(picture, quarters).pixels);
    EXPECT_EQ(turned.pixels, turn(picture, quarters - 4).pixels);
    EXPECT_EQ(turned.pixels, turn(picture, quarters + 8).pixels);
  }
  EXPECT_EQ(turned.pixels, picture.pixels);
}

// EXIF says where the stored picture's first row and first column are in the one that is shown.
TEST(Transform, UprightFollowsAllEightOrientations) {
  const Image picture = waves(5, 3, 3);
  const int w = 5, h = 3;
  // Where the pixel (x, y) of the file is shown.
  const std::function<std::pair<int, int>(int, int)> shown[] = {
      [](int x, int y) { return std::pair(x, y); },
      [&](int x, int y) { return std::pair(w - 1 - x, y); },          // row top, column right
      [&](int x, int y) { return std::pair(w - 1 - x, h - 1 - y); },  // bottom, right
      [&](int x, int y) { return std::pair(x, h - 1 - y); },          // bottom, left
      [](int x, int y) { return std::pair(y, x); },                   // left, top
      [&](int x, int y) { return std::pair(h - 1 - y, x); },          // right, top
      [&](int x, int y) { return std::pair(h - 1 - y, w - 1 - x); },  // right, bottom
      [&](int x, int y) { return std::pair(y, w - 1 - x); },          // left, bottom
  };
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image out = upright(picture, orientation);
    ASSERT_EQ(out.width, orientation < 5 ? w : h);
    ASSERT_EQ(out.height, orientation < 5 ? h : w);
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        const auto [to_x, to_y] = shown[orientation - 1](x, y);
        for (int c = 0; c < 3; ++c) {
          ASSERT_EQ(out.row(to_y)[3 * to_x + c], picture.row(y)[3 * x + c]) << orientation;
        }
      }
    }
  }
  for (const int nonsense : {-1, 0, 9}) {
    EXPECT_EQ(upright(picture, nonsense).pixels, picture.pixels);
  }
}

TEST(Transform, ShrinkingAverages) {
  Image picture = blank(4, 2, 1);
  picture.pixels = {0, 100, 10, 20, 50, 50, 30, 40};
  EXPECT_EQ(resize(picture, 2, 1).pixels, (std::vector<std::uint8_t>{50, 25}));
}

TEST(Transform, ResizeKeepsTheContentInPlace) {
  const Image picture = waves(120, 90, 3);
  const Image there_and_back = resize(resize(picture, 240, 180), 120, 90);
  EXPECT_LT(mean_difference(there_and_back, picture), 1);
  const Image taller = resize(picture, 60, 180);  // shrinks one way, grows the other
  EXPECT_EQ(taller.width, 60);
  EXPECT_LT(mean_difference(resize(taller, 120, 90), picture), 2);
}

TEST(Transform, ShrinkToNeverGrows) {
  const Image picture = waves(120, 90, 1);
  EXPECT_EQ(shrink_to(picture, 200).pixels, picture.pixels);
  const Image small = shrink_to(picture, 40);
  EXPECT_EQ(small.width, 40);
  EXPECT_EQ(small.height, 30);
  const Image line = shrink_to(waves(1, 300, 1), 20);  // the short side keeps a pixel
  EXPECT_EQ(line.width, 1);
  EXPECT_EQ(line.height, 20);
}

TEST(Transform, GreyIsRec601Luma) {
  Image picture = blank(3, 1, 3);
  picture.pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255};
  EXPECT_EQ(to_grey(picture).pixels, (std::vector<std::uint8_t>{76, 150, 29}));
  const Image grey = waves(5, 5, 1);
  EXPECT_EQ(to_grey(grey).pixels, grey.pixels);
}

TEST(Transform, BlurIsAGaussianOfThatSigma) {
  Image dot = blank(41, 41, 1);
  dot.row(20)[20] = 255;
  const Image soft = blur(dot, 1.5);
  // 255 / (2 pi sigma^2) at the centre; a factor exp(-1/2) one sigma away.
  EXPECT_NEAR(soft.row(20)[20], 255 / (2 * 3.14159265 * 1.5 * 1.5), 1.5);
  EXPECT_NEAR(soft.row(20)[23], soft.row(20)[20] * std::exp(-2.0), 1.5);
  EXPECT_EQ(soft.row(20)[23], soft.row(23)[20]);
  EXPECT_EQ(blur(dot, 0).pixels, dot.pixels);
}

}  // namespace
}  // namespace skyfix
