#include "skyfix/models/sampling_torch.h"

#include <cassert>
#include <limits>
#include <string>
#include <utility>

#include "skyfix/base/error.h"

namespace skyfix::models {
namespace {

constexpr int kSmallestSide = 32;
constexpr double kUnitEps = 1e-12;
constexpr double kCubic = -0.75;

// The taps along one axis: cells and weights [n, taps].
struct Taps {
  at::Tensor cells;    // int64, within the map
  at::Tensor weights;  // fp32, 0 for cells outside
};

// Weights of the cells at floor(x) - 1 ... floor(x) + 2 for the fraction t [n].
at::Tensor cubic_weights(const at::Tensor& t) {
  const auto near = [](const at::Tensor& d) {
    return ((kCubic + 2) * d - (kCubic + 3)) * d * d + 1;
  };
  const auto far = [](const at::Tensor& d) {
    return ((kCubic * d - 5 * kCubic) * d + 8 * kCubic) * d - 4 * kCubic;
  };
  return at::stack({far(t + 1), near(t), near(1 - t), far(2 - t)}, 1);
}

Taps taps_along(const at::Tensor& position, std::int64_t size, bool cubic) {
  // Far outside is all the same, and safe to convert.
  const at::Tensor place = position.nan_to_num(-8.0).clamp(-8.0, double(size) + 8.0);
  const at::Tensor base = place.floor();
  const at::Tensor t = place - base;
  const at::Tensor steps = cubic ? at::arange(-1, 3, t.options()) : at::arange(0, 2, t.options());
  const at::Tensor weights = cubic ? cubic_weights(t) : at::stack({1 - t, t}, 1);
  const at::Tensor cells = base.unsqueeze(1) + steps;
  const at::Tensor inside = (cells >= 0).logical_and_(cells < size);
  return {cells.clamp(0, size - 1).to(at::kLong), weights * inside};
}

at::Tensor sample(const FeatureTable& table, const at::Tensor& x, const at::Tensor& y, bool cubic) {
  if (x.numel() == 0) return table.rows.new_zeros({0, table.rows.size(1)});
  const Taps along_x = taps_along(x, table.width, cubic);
  const Taps along_y = taps_along(y, table.height, cubic);
  const at::Tensor cells = along_y.cells.unsqueeze(2) * table.width + along_x.cells.unsqueeze(1);
  const at::Tensor weights = along_y.weights.unsqueeze(2) * along_x.weights.unsqueeze(1);
  const std::int64_t taps = cells.size(1) * cells.size(2);
  const at::Tensor starts = at::arange(0, x.size(0) * taps, taps, cells.options());
  // Gathers and sums in one pass.
  return std::get<0>(at::embedding_bag(table.rows, cells.flatten(), starts, false, /*mode sum=*/0,
                                       false, weights.flatten()));
}

// Of five cells along an axis. Shifted copies: pooling kernels also keep indices, and take ten
// times as long.
at::Tensor maximum_along(const at::Tensor& map, std::int64_t axis) {
  const std::int64_t size = map.size(axis);
  const at::Tensor padded =
      at::constant_pad_nd(map, axis == 1 ? at::IntArrayRef{2, 2} : at::IntArrayRef{0, 0, 2, 2},
                          -std::numeric_limits<double>::infinity());
  at::Tensor highest = at::maximum(padded.narrow(axis, 0, size), padded.narrow(axis, 1, size));
  for (std::int64_t shift = 2; shift < 5; ++shift) {
    at::maximum_out(highest, highest, padded.narrow(axis, shift, size));
  }
  return highest;
}

}  // namespace

FeatureTable feature_table(const at::Tensor& map) {
  const at::Tensor rows = map.select(0, 0).permute({1, 2, 0}).to(at::kFloat).contiguous();
  return {rows.flatten(0, 1), map.size(2), map.size(3)};
}

at::Tensor sample_bilinear(const FeatureTable& table, const at::Tensor& x, const at::Tensor& y) {
  return sample(table, x, y, false);
}

at::Tensor sample_bicubic(const FeatureTable& table, const at::Tensor& x, const at::Tensor& y) {
  return sample(table, x, y, true);
}

at::Tensor window_maximum(const at::Tensor& map) { return maximum_along(maximum_along(map, 1), 0); }

at::Tensor windows_of_5(const at::Tensor& map, const at::Tensor& cells) {
  const std::int64_t width = map.size(1);
  const at::Tensor padded = at::constant_pad_nd(map, {2, 2, 2, 2});
  const at::Tensor steps = at::arange(5, cells.options());
  const at::Tensor window = (steps.unsqueeze(1) * (width + 4) + steps).flatten();
  const at::Tensor corner = cells.div(width, "floor") * (width + 4) + cells.remainder(width);
  return padded.flatten().take(corner.unsqueeze(1) + window);
}

std::pair<at::Tensor, at::Tensor> window_offsets(const at::Tensor& like) {
  const at::Tensor steps = at::arange(-2, 3, like.options().dtype(at::kFloat));
  return {steps.repeat({5}), steps.repeat_interleave(5)};
}

at::Tensor unit_rows(const at::Tensor& rows) {
  return rows / rows.norm(2, {1}, true).clamp_min_(kUnitEps);
}

at::Tensor places_tensor(std::span<const float> xy, at::Device device) {
  assert(xy.size() % 2 == 0);
  const std::int64_t n = std::int64_t(xy.size() / 2);
  if (n == 0) return at::zeros({0, 2}, at::dtype(at::kFloat).device(device));
  return at::from_blob(const_cast<float*>(xy.data()), {n, 2}, at::kFloat)
      .to(device, at::kFloat, false, /*copy=*/true);
}

std::vector<float> to_floats(const at::Tensor& values) {
  const at::Tensor host = values.to(at::kCPU, at::kFloat).contiguous();
  const float* first = host.const_data_ptr<float>();
  return {first, first + host.numel()};
}

void check_size(const PictureView& picture) {
  assert(picture.pixels != nullptr && (picture.channels == 1 || picture.channels == 3));
  if (picture.width >= kSmallestSide && picture.height >= kSmallestSide) return;
  throw Error(Reason::image_too_small, "a picture of " + std::to_string(picture.width) + " x " +
                                           std::to_string(picture.height) +
                                           " px is too small for this network; give one of at "
                                           "least 32 px a side");
}

}  // namespace skyfix::models
