// How a photo becomes MASt3R's input: resized so that its long side has a given length, then cut
// around the centre to multiples of the patch. Specification: mast3r.md, section 8.
#pragma once

#include <cstdint>

#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/resample.h"

namespace skyfix {

struct Mast3rPlace {
  double x = 0;
  double y = 0;
};

// Places are COLMAP pixels on both sides: the centre of the top-left pixel is (0.5, 0.5).
struct Mast3rGrid {
  int photo_width = 0;
  int photo_height = 0;
  int resized_width = 0;
  int resized_height = 0;
  int left = 0;  // of the cut, in the resized picture
  int top = 0;
  int width = 0;  // of the network's input, px; multiples of 16
  int height = 0;
  bool operator==(const Mast3rGrid&) const = default;

  std::int64_t pixels() const { return std::int64_t{width} * height; }
  Mast3rPlace to_network(const Mast3rPlace& photo) const;
  Mast3rPlace to_photo(const Mast3rPlace& network) const;
  // The row-major network pixel that a place of the photo falls into; -1 outside the cut (and for
  // a NaN).
  std::int64_t pixel_at(const Mast3rPlace& photo) const;
  // The photo's place of a network pixel's centre.
  Mast3rPlace centre_of(std::int64_t pixel) const;
};

// `square_to_4_3`: a square picture is cut to 4:3, as in the reference; else it is kept.
// Throws Error(image_too_small) when no row or column of patches would be left,
// Error(bad_option) for a long side below 16 or beyond 4096.
Mast3rGrid mast3r_grid(int photo_width, int photo_height, int long_side,
                       bool square_to_4_3 = false);

// The network's input, 8 bits: Lanczos when the photo is made smaller, else bicubic. `photo` is RGB
// of the grid's photo size (asserted).
BytePicture mast3r_picture(const PictureView& photo, const Mast3rGrid& grid);

}  // namespace skyfix
