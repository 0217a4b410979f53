// Resizing, turning, blurring, colours: OpenCV's imgproc behind our own value type.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "skyfix/image/codec.h"
#include "skyfix/image/image.h"
#include "skyfix/image/opencv_memory.h"

namespace skyfix {
namespace {

// The image's pixels as an OpenCV matrix, without a copy.
cv::Mat view_of(const Image& image) {
  assert(image.pixels.size() == std::size_t(image.width) * image.height * image.channels);
  // OpenCV has no read-only matrix; sources are not written to.
  return cv::Mat(image.height, image.width, CV_8UC(image.channels),
                 const_cast<std::uint8_t*>(image.pixels.data()));
}

}  // namespace

Image resize(const Image& image, int width, int height) {
  assert(width > 0 && height > 0);
  if (width == image.width && height == image.height) return image;
  const bool shrinks = width <= image.width && height <= image.height;
  Image out = codec::blank_image(width, height, image.channels);
  cv::Mat to = view_of(out);
  call_opencv([&] {
    cv::resize(view_of(image), to, to.size(), 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_CUBIC);
  });
  return out;
}

Image shrink_to(const Image& image, int long_side_px) {
  const int longer = std::max(image.width, image.height);
  if (longer <= long_side_px) return image;
  return resize(image, codec::scaled_side(image.width, long_side_px, longer),
                codec::scaled_side(image.height, long_side_px, longer));
}

Image turn(const Image& image, int quarters) {
  const int clockwise = ((quarters % 4) + 4) % 4;
  if (clockwise == 0) return image;
  const bool sideways = clockwise % 2 == 1;
  Image out = codec::blank_image(sideways ? image.height : image.width,
                                 sideways ? image.width : image.height, image.channels);
  constexpr int kRotations[] = {0, cv::ROTATE_90_CLOCKWISE, cv::ROTATE_180,
                                cv::ROTATE_90_COUNTERCLOCKWISE};
  cv::Mat to = view_of(out);
  call_opencv([&] { cv::rotate(view_of(image), to, kRotations[clockwise]); });
  return out;
}

Image upright(const Image& image, int exif_orientation) {
  // Quarters clockwise, after mirroring left and right where that is part of it.
  constexpr int kQuarters[] = {0, 0, 0, 2, 2, 3, 1, 1, 3};
  if (exif_orientation < 2 || exif_orientation > 8) return image;
  const int quarters = kQuarters[exif_orientation];
  const bool mirrored = exif_orientation == 2 || exif_orientation == 4 || exif_orientation == 5 ||
                        exif_orientation == 7;
  if (!mirrored) return turn(image, quarters);
  Image flipped = codec::blank_image(image.width, image.height, image.channels);
  cv::Mat to = view_of(flipped);
  call_opencv([&] { cv::flip(view_of(image), to, 1); });
  return turn(flipped, quarters);
}

Image blur(const Image& image, double sigma_px) {
  if (sigma_px <= 0) return image;
  Image out = codec::blank_image(image.width, image.height, image.channels);
  cv::Mat to = view_of(out);
  call_opencv([&] {
    cv::GaussianBlur(view_of(image), to, cv::Size(0, 0), sigma_px, sigma_px,
                     cv::BORDER_REFLECT_101);
  });
  return out;
}

Image to_grey(const Image& image) {
  if (image.channels == 1) return image;
  Image out = codec::blank_image(image.width, image.height, 1);
  cv::Mat to = view_of(out);
  call_opencv([&] { cv::cvtColor(view_of(image), to, cv::COLOR_RGB2GRAY); });
  return out;
}

Image codec::to_channels(Image image, int channels) {
  if (image.channels == channels) return image;
  if (channels == 1) return to_grey(image);
  Image out = codec::blank_image(image.width, image.height, 3);
  cv::Mat to = view_of(out);
  call_opencv([&] { cv::cvtColor(view_of(image), to, cv::COLOR_GRAY2RGB); });
  return out;
}

}  // namespace skyfix
