#include "skyfix/models/aliked/keypoints_torch.h"

#include <algorithm>

#include "skyfix/models/sampling_torch.h"

namespace skyfix::aliked {
namespace {

constexpr double kTemperature = 0.1;
constexpr std::int64_t kBorder = 2;

// The scores of local maxima, zero elsewhere: maxima that a stronger one had hidden come back where
// that one is out of reach.
at::Tensor suppressed(const at::Tensor& scores) {
  at::Tensor maxima = scores == models::window_maximum(scores);
  for (int pass = 0; pass < 2; ++pass) {
    const at::Tensor hidden = models::window_maximum(maxima.to(at::kFloat)) > 0;
    const at::Tensor rest = scores.masked_fill(hidden, 0);
    maxima.logical_or_((rest == models::window_maximum(rest)).logical_and_(hidden.logical_not()));
  }
  at::Tensor kept = at::zeros_like(scores);
  const std::int64_t height = scores.size(0) - 2 * kBorder, width = scores.size(1) - 2 * kBorder;
  const auto inner = [&](const at::Tensor& map) {
    return map.narrow(0, kBorder, height).narrow(1, kBorder, width);
  };
  inner(kept).copy_(inner(scores) * inner(maxima));
  return kept;
}

// Raster indices of the `most` highest; ties to the lower index.
at::Tensor highest(const at::Tensor& values, std::int64_t most) {
  return std::get<1>(at::sort(values, /*stable=*/true, 0, /*descending=*/true))
      .narrow(0, 0, std::min(most, values.size(0)));
}

// Every pixel of an even area is a maximum (in the reference too), and none shows anything.
at::Tensor not_flat(const at::Tensor& scores, const at::Tensor& cells) {
  if (cells.numel() == 0) return cells;
  const at::Tensor window = models::windows_of_5(scores, cells);
  return cells.masked_select(window.amax(1) > window.amin(1));
}

at::Tensor candidates(const at::Tensor& scores, const Selection& selection) {
  const at::Tensor values = suppressed(scores).flatten();
  if (selection.threshold <= 0) return highest(values, selection.most);
  at::Tensor cells = at::nonzero(values > selection.threshold).squeeze(1);
  if (cells.numel() == 0) cells = at::nonzero(values > scores.mean()).squeeze(1);
  cells = not_flat(scores, cells);
  if (selection.most <= 0 || cells.size(0) <= selection.most) return cells;
  return cells.index_select(0, highest(values.index_select(0, cells), selection.most));
}

}  // namespace

Keypoints find_keypoints(const at::Tensor& scores, const Selection& selection) {
  const at::Tensor cells = candidates(scores, selection);
  if (cells.numel() == 0) return {scores.new_zeros({0, 2}), scores.new_zeros({0})};
  const at::Tensor window = models::windows_of_5(scores, cells);
  const at::Tensor weights = ((window - window.amax(1, true)) / kTemperature).exp();
  const at::Tensor sum = weights.sum(1);
  const auto [dx, dy] = models::window_offsets(weights);
  const at::Tensor x = cells.remainder(scores.size(1)) + at::mv(weights, dx) / sum;
  const at::Tensor y = cells.div(scores.size(1), "floor") + at::mv(weights, dy) / sum;
  const models::FeatureTable table{scores.reshape({-1, 1}), scores.size(0), scores.size(1)};
  const at::Tensor found = models::sample_bilinear(table, x, y).squeeze(1);
  // Rising raster index among equals.
  const at::Tensor raster = std::get<1>(at::sort(cells));
  const at::Tensor order =
      raster.index_select(0, std::get<1>(at::sort(found.index_select(0, raster), true, 0, true)));
  return {at::stack({x, y}, 1).index_select(0, order), found.index_select(0, order)};
}

}  // namespace skyfix::aliked
