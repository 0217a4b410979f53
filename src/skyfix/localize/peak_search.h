// Finding map points near their projections in a network's dense map: descriptors are sampled
// around each projection, and the place most like the point's own descriptor wins.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace skyfix {

struct Peak {
  Eigen::Vector2f xy;  // with a fraction from a parabola through the neighbours
  float score = 0;     // cosine at the sample
};

// Samples at xy [n,2]: unit rows [n,dimension].
using DescribePlaces = std::function<std::vector<float>(std::span<const float> xy)>;

// For each centre, the best of a (2 k + 1)^2 grid of samples `step_px` apart, k = ceil(radius /
// step). nullopt where the best lies on the grid's rim (it may well go on outside) or is below
// `min_score`. `descriptors` holds one unit row a centre.
std::vector<std::optional<Peak>> find_peaks(std::span<const Eigen::Vector2f> centres,
                                            std::span<const float> descriptors, int dimension,
                                            double radius_px, double step_px, double min_score,
                                            const DescribePlaces& describe);

}  // namespace skyfix
