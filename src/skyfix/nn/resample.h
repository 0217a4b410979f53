// Resizing 8-bit pictures exactly as the networks were trained: separable, with antialiasing, in
// 8 bits with 22-bit integer weights. The rules, which reproduce the usual Python imaging library
// to the bit, stand in the specification of MASt3R, section 8, and of the streaming model,
// section 3.
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/nn/picture_view.h"

namespace skyfix {

enum class ResampleFilter { bicubic, lanczos };  // a = -0.5; three lobes

// A picture that owns its samples.
struct BytePicture {
  std::vector<std::uint8_t> pixels;  // row-major, interleaved
  int width = 0;
  int height = 0;
  int channels = 3;
  PictureView view() const { return {pixels.data(), width, height, channels}; }
};

// All sizes at least 1 (asserted). Horizontal pass first, the intermediate rounded to 8 bits; a
// pass whose size does not change is skipped. On all threads; the result does not depend on them.
BytePicture resample(const PictureView& picture, int width, int height, ResampleFilter filter);

// The rectangle of `width` x `height` px whose top left pixel is (left, top), within the picture
// (asserted).
BytePicture crop(const PictureView& picture, int left, int top, int width, int height);

}  // namespace skyfix
