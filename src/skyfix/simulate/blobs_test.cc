#include "skyfix/simulate/blobs.h"

#include <gmock/gmock.h>

#include <cmath>

namespace skyfix::sim {
namespace {

Image plain(int width, int height, std::uint8_t grey = 100) {
  return {width, height, 1, std::vector<std::uint8_t>(std::size_t(width) * height, grey)};
}

// Adds a Gaussian spot with its centre at a COLMAP pixel.
void add_spot(Image& image, double x, double y, double sigma, double height) {
  for (int row = 0; row < image.height; ++row) {
    for (int column = 0; column < image.width; ++column) {
      const double dx = column + 0.5 - x;
      const double dy = row + 0.5 - y;
      const double value = height * std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma));
      image.row(row)[column] = std::uint8_t(image.row(row)[column] + value + 0.5);
    }
  }
}

TEST(Blobs, AreFoundAtTheirCentres) {
  Image image = plain(120, 90);
  add_spot(image, 40.3, 30.8, 1.2, 100);
  add_spot(image, 80.6, 60.2, 2.4, 80);   // of the second octave
  add_spot(image, 90.5, 20.5, 1.2, -60);  // dark
  const std::vector<Blob> blobs = detect_blobs(image, 100);
  for (const Eigen::Vector2d& centre :
       {Eigen::Vector2d(40.3, 30.8), Eigen::Vector2d(80.6, 60.2), Eigen::Vector2d(90.5, 20.5)}) {
    double nearest = 1e9;
    for (const Blob& blob : blobs) nearest = std::min(nearest, (blob.pixel - centre).norm());
    EXPECT_LT(nearest, 0.2) << centre.transpose();
  }
}

TEST(Blobs, StrongestComeFirstUpToTheLimit) {
  Image image = plain(200, 60);
  for (int i = 0; i < 6; ++i) add_spot(image, 20.4 + 30 * i, 30.3, 1.3, 20 + 20 * i);
  const std::vector<Blob> blobs = detect_blobs(image, 3);
  ASSERT_EQ(blobs.size(), 3);
  EXPECT_GE(blobs[0].strength, blobs[1].strength);
  EXPECT_GE(blobs[1].strength, blobs[2].strength);
  EXPECT_NEAR(blobs[0].pixel.x(), 170.4, 0.2);
}

TEST(Blobs, NoneOnPlainGroundOrAlongAnEdge) {
  EXPECT_THAT(detect_blobs(plain(80, 80), 100), testing::IsEmpty());
  Image edge = plain(80, 80);
  for (int y = 0; y < 80; ++y) {
    for (int x = 40; x < 80; ++x) edge.row(y)[x] = 200;
  }
  EXPECT_THAT(detect_blobs(edge, 100), testing::IsEmpty());
}

TEST(Blobs, TinyPicturesHaveNone) {
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(2, 1), std::pair(1, 9), std::pair(13, 13)}) {
    EXPECT_THAT(detect_blobs(plain(width, height), 10), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace skyfix::sim
