#include "skyfix/models/mast3r/mast3r_grid.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr int kPatch = 16;
constexpr int kLongestSide = 4096;

// Half to even, whatever the rounding mode: side * long_side may lie on a half exactly.
int scaled_side(int side, int long_side, int longest) {
  const std::int64_t product = std::int64_t{side} * long_side;
  const std::int64_t floor = product / longest;
  const std::int64_t twice_rest = 2 * (product % longest);
  const bool up = twice_rest > longest || (twice_rest == longest && floor % 2 == 1);
  return static_cast<int>(floor + (up ? 1 : 0));
}

}  // namespace

Mast3rPlace Mast3rGrid::to_network(const Mast3rPlace& photo) const {
  return {photo.x * resized_width / photo_width - left,
          photo.y * resized_height / photo_height - top};
}

Mast3rPlace Mast3rGrid::to_photo(const Mast3rPlace& network) const {
  return {(network.x + left) * photo_width / resized_width,
          (network.y + top) * photo_height / resized_height};
}

std::int64_t Mast3rGrid::pixel_at(const Mast3rPlace& photo) const {
  const Mast3rPlace place = to_network(photo);
  const bool inside = place.x >= 0 && place.y >= 0 && place.x < width && place.y < height;
  if (!inside) return -1;
  return static_cast<std::int64_t>(place.y) * width + static_cast<std::int64_t>(place.x);
}

Mast3rPlace Mast3rGrid::centre_of(std::int64_t pixel) const {
  const std::int64_t row = pixel / width, column = pixel % width;
  return to_photo({double(column) + 0.5, double(row) + 0.5});
}

Mast3rGrid mast3r_grid(int photo_width, int photo_height, int long_side, bool square_to_4_3) {
  if (long_side < kPatch || long_side > kLongestSide) {
    throw Error(Reason::bad_option, "MASt3R's long side is " + std::to_string(long_side) +
                                        " px; it must be between 16 and 4096");
  }
  const int longest = std::max(photo_width, photo_height);
  Mast3rGrid grid{.photo_width = photo_width, .photo_height = photo_height};
  if (longest > 0 && std::min(photo_width, photo_height) > 0) {
    grid.resized_width = scaled_side(photo_width, long_side, longest);
    grid.resized_height = scaled_side(photo_height, long_side, longest);
  }
  const int centre_x = grid.resized_width / 2, centre_y = grid.resized_height / 2;
  const int half_width = kPatch / 2 * (2 * centre_x / kPatch);
  int half_height = kPatch / 2 * (2 * centre_y / kPatch);
  if (square_to_4_3 && grid.resized_width == grid.resized_height) half_height = 3 * half_width / 4;
  if (half_width == 0 || half_height == 0) {
    throw Error(Reason::image_too_small,
                "a picture of " + std::to_string(photo_width) + " x " +
                    std::to_string(photo_height) + " px has no 16 px on its short side at a long " +
                    "side of " + std::to_string(long_side) + " px; MASt3R cannot use it");
  }
  grid.left = centre_x - half_width;
  grid.top = centre_y - half_height;
  grid.width = 2 * half_width;
  grid.height = 2 * half_height;
  return grid;
}

BytePicture mast3r_picture(const PictureView& photo, const Mast3rGrid& grid) {
  assert(photo.width == grid.photo_width && photo.height == grid.photo_height);
  assert(photo.channels == 3);
  const bool smaller =
      std::max(photo.width, photo.height) > std::max(grid.resized_width, grid.resized_height);
  const BytePicture resized = resample(photo, grid.resized_width, grid.resized_height,
                                       smaller ? ResampleFilter::lanczos : ResampleFilter::bicubic);
  return crop(resized.view(), grid.left, grid.top, grid.width, grid.height);
}

}  // namespace skyfix
