// A picture at a network's door: 8-bit samples that somebody else owns. (The image room is beside
// this one, not below.)
#pragma once

#include <cstdint>

namespace skyfix {

struct PictureView {
  const std::uint8_t* pixels = nullptr;  // row-major, interleaved, rows without padding
  int width = 0;
  int height = 0;
  int channels = 1;  // 1 (grey) or 3 (RGB)
};

}  // namespace skyfix
