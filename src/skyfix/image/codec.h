// The door between the dispatcher (decode.cc) and the picture formats; private to this room.
// Codecs throw skyfix::Error without a file: the dispatcher adds it.
#pragma once

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>

#include "skyfix/image/image.h"

namespace skyfix::codec {

using Bytes = std::span<const std::byte>;

// Size from the header. The decoders allocate what the header says: the dispatcher has compared it
// with the limit before it calls them.
ImageInfo probe_jpeg(Bytes bytes);
ImageInfo probe_png(Bytes bytes);
ImageInfo probe_tiff(Bytes bytes);

// At least options.long_side along the long side (where the file has that), at most full size.
Image decode_jpeg(Bytes bytes, const DecodeOptions& options);
// Full size; options.long_side is left to the dispatcher.
Image decode_png(Bytes bytes, const DecodeOptions& options);
Image decode_tiff(Bytes bytes, const DecodeOptions& options);

// An image of that size and kind, all zero.
Image blank_image(int width, int height, int channels);

// A side of a picture whose longer side shrinks to `long_side`; at least one pixel.
inline int scaled_side(int side, int long_side, int longer) {
  return std::max(1, static_cast<int>(std::lround(double(side) * long_side / longer)));
}

// Lays pixels whose last channel (of 2 or 4) is their opacity over white; 1 or 3 channels. In
// `premultiplied` pixels the colours are multiplied with it already.
Image over_white(const Image& image, bool premultiplied = false);

// Grey or RGB as wanted, from grey or RGB.
Image to_channels(Image image, int channels);

// 16-bit sample to 8 bits, rounded: 65535 -> 255 and v * 257 -> v.
inline std::uint8_t eight_bits(std::uint16_t sample) {
  return static_cast<std::uint8_t>((std::uint32_t{sample} * 255 + 32895) >> 16);
}

// Runs a step that calls a C library whose error handler longjmps to `jump`; false if it did. The
// step must own nothing that has a destructor: it would be skipped.
template <class Step>
bool run_guarded(std::jmp_buf& jump, const Step& step) {
  if (setjmp(jump) != 0) return false;
  step();
  return true;
}

}  // namespace skyfix::codec
