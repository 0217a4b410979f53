// A plain difference-of-Gaussians detector (Lindeberg 1998; Lowe 2004, section 3): where a real
// feature detector is likely to fire. Used to choose the model's points, nothing else.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "skyfix/image/image.h"

namespace skyfix::sim {

struct Blob {
  Eigen::Vector2d pixel;  // COLMAP pixels, refined below a pixel
  float strength = 0;     // of the response, grey levels
};

// The strongest blobs first, at most `limit`. `grey` has one channel.
std::vector<Blob> detect_blobs(const Image& grey, std::size_t limit);

}  // namespace skyfix::sim
