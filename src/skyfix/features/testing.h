// Pictures with features to find, made from a seed. For tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "skyfix/image/image.h"

namespace skyfix {

// Adds a round Gaussian spot; centre in COLMAP pixels.
inline void add_blob(std::vector<float>& grey, int width, int height, double centre_x,
                     double centre_y, double sigma_px, double amplitude) {
  const double reach = 5 * sigma_px;
  const int first_x = std::max(0, int(centre_x - reach));
  const int last_x = std::min(width - 1, int(centre_x + reach));
  const int first_y = std::max(0, int(centre_y - reach));
  const int last_y = std::min(height - 1, int(centre_y + reach));
  for (int y = first_y; y <= last_y; ++y) {
    for (int x = first_x; x <= last_x; ++x) {
      const double dx = x + 0.5 - centre_x, dy = y + 0.5 - centre_y;
      grey[std::size_t(y) * width + x] +=
          float(amplitude * std::exp(-(dx * dx + dy * dy) / (2 * sigma_px * sigma_px)));
    }
  }
}

inline Image grey_image(const std::vector<float>& grey, int width, int height) {
  Image image{width, height, 1, std::vector<std::uint8_t>(grey.size())};
  std::transform(grey.begin(), grey.end(), image.pixels.begin(),
                 [](float v) { return std::uint8_t(std::clamp(std::lround(v), 0L, 255L)); });
  return image;
}

// Spots of many sizes, light and dark, on grey.
inline Image textured_image(int width, int height, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return double(random() >> 11) * 0x1p-53; };
  std::vector<float> grey(std::size_t(width) * height, 128.0f);
  const int blobs = width * height / 120;
  for (int i = 0; i < blobs; ++i) {
    const double x = uniform() * width, y = uniform() * height;
    const double sigma = 1 + 6 * std::pow(uniform(), 3);
    add_blob(grey, width, height, x, y, sigma, (uniform() < 0.5 ? -1 : 1) * (20 + 60 * uniform()));
  }
  return grey_image(grey, width, height);
}

}  // namespace skyfix
