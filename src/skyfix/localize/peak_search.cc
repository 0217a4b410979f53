#include "skyfix/localize/peak_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "skyfix/base/parallel.h"
#include "skyfix/localize/dot_product.h"

namespace skyfix {
namespace {

constexpr std::size_t kSamplesAtOnce = 65536;  // bounds the samples' memory

// Where a parabola through three equally spaced values peaks, in steps from the middle one.
float parabola_offset(float before, float middle, float after) {
  const float curvature = before - 2 * middle + after;
  if (!(curvature < 0)) return 0;
  return std::clamp(0.5f * (before - after) / curvature, -0.5f, 0.5f);
}

// The square grid of samples around a centre.
struct Grid {
  Grid(double radius_px, double step)
      : half(std::max(1, static_cast<int>(std::ceil(radius_px / step)))),
        side(2 * half + 1),
        step_px(static_cast<float>(step)) {}
  std::size_t samples() const { return std::size_t(side) * side; }
  void append(const Eigen::Vector2f& centre, std::vector<float>& xy) const {
    for (int j = -half; j <= half; ++j) {
      for (int i = -half; i <= half; ++i) {
        xy.insert(xy.end(), {centre.x() + i * step_px, centre.y() + j * step_px});
      }
    }
  }
  std::optional<Peak> peak(const Eigen::Vector2f& centre, std::span<const float> score,
                           double min_score) const {
    const auto best = std::max_element(score.begin(), score.end()) - score.begin();
    const int row = static_cast<int>(best) / side;
    const int column = static_cast<int>(best) % side;
    if (!(score[best] >= min_score)) return std::nullopt;
    if (row == 0 || column == 0 || row == side - 1 || column == side - 1) return std::nullopt;
    const float x = column - half + parabola_offset(score[best - 1], score[best], score[best + 1]);
    const float y =
        row - half + parabola_offset(score[best - side], score[best], score[best + side]);
    return Peak{centre + step_px * Eigen::Vector2f(x, y), score[best]};
  }
  int half;
  int side;
  float step_px;
};

}  // namespace

std::vector<std::optional<Peak>> find_peaks(std::span<const Eigen::Vector2f> centres,
                                            std::span<const float> descriptors, int dimension,
                                            double radius_px, double step_px, double min_score,
                                            const DescribePlaces& describe) {
  assert(descriptors.size() == centres.size() * std::size_t(dimension));
  const Grid grid(radius_px, step_px);
  const std::size_t at_once = std::max<std::size_t>(1, kSamplesAtOnce / grid.samples());
  std::vector<std::optional<Peak>> peaks(centres.size());
  for (std::size_t first = 0; first < centres.size(); first += at_once) {
    const std::size_t count = std::min(at_once, centres.size() - first);
    std::vector<float> xy;
    xy.reserve(2 * count * grid.samples());
    for (std::size_t i = first; i < first + count; ++i) grid.append(centres[i], xy);
    const std::vector<float> rows = describe(xy);
    parallel_for(count, 64, [&](std::size_t begin, std::size_t end) {
      std::vector<float> score(grid.samples());
      for (std::size_t i = begin; i < end; ++i) {
        const float* wanted = descriptors.data() + (first + i) * dimension;
        for (std::size_t k = 0; k < score.size(); ++k) {
          score[k] =
              dot_product(wanted, rows.data() + (i * score.size() + k) * dimension, dimension);
        }
        peaks[first + i] = grid.peak(centres[first + i], score, min_score);
      }
    });
  }
  return peaks;
}

}  // namespace skyfix
