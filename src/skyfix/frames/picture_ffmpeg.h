// From a decoded frame to RGB. For *_ffmpeg.cc only.
#pragma once

#include "skyfix/frames/ffmpeg_types.h"
#include "skyfix/image/image.h"

namespace skyfix::ffmpeg {

class PictureConverter {
 public:
  // 8-bit RGB, full range. The matrix (BT.601, 709, 2020) and the range are the frame's own; where
  // it names no matrix: 601 for JPEG and below 720 lines, else 709. Throws
  // Error(unsupported_image).
  Image convert(const AVFrame& frame, AVCodecID codec);

 private:
  Owned<SwsContext> scaler_;
};

// EXIF's number (1..8) for a display matrix of 9 fixed-point numbers; turns that are no quarters
// are taken as the nearest.
int orientation_of(const std::int32_t* display_matrix);

}  // namespace skyfix::ffmpeg
