// Keypoints of a map of scores, to a fraction of a pixel: ALIKED's differentiable detection as it
// is used. Specification: aliked_lightglue.md, section 2.2.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace skyfix::aliked {

struct Selection {
  // Candidates score above it; where none does, above the mean of the map. 0: the `most` highest,
  // whatever their score.
  double threshold = 0.2;
  std::int64_t most = 0;  // 0 = all
};

struct Keypoints {
  at::Tensor places;  // fp32 [n, 2]: x, y; centres of pixels are whole
  at::Tensor scores;  // fp32 [n]: at the places, falling; ties to the lower raster index
};

// scores: fp32 [height, width], at least 5 x 5. Even areas have none, unlike in the reference.
Keypoints find_keypoints(const at::Tensor& scores, const Selection& selection);

}  // namespace skyfix::aliked
