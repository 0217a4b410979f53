#include "skyfix/models/aliked/deformable_torch.h"

#include <algorithm>

#include "skyfix/models/sampling_torch.h"

namespace skyfix::aliked {
namespace {

constexpr std::int64_t kTaps = 9;

}  // namespace

DeformableConvolution::DeformableConvolution(const nn::WeightReader& weights,
                                             const std::string& name, std::int64_t in,
                                             std::int64_t out, const nn::BatchNorm& norm)
    : offset_(weights, name + ".offset_conv", {in, 2 * kTaps, 3, 1, 1}),
      regular_(weights.in(Precision::fp32), name + ".regular_conv", {in, out, 3, 1, 1},
               /*with_bias=*/false) {
  norm.fold_into(regular_);
  const at::ScalarType type = nn::scalar_type(weights.placement().precision);
  regular_.weight = regular_.weight.to(type);
  regular_.bias = regular_.bias.to(type);
}

at::Tensor DeformableConvolution::offsets(const at::Tensor& x) const {
  const double most = double(std::max(x.size(2), x.size(3))) / 4;
  return offset_(x).to(at::kFloat).clamp_(-most, most);
}

at::Tensor DeformableConvolution::operator()(const at::Tensor& x) const {
  const std::int64_t height = x.size(2), width = x.size(3);
  // [h, w, taps, (y, x)]
  const at::Tensor moved =
      offsets(x).view({kTaps, 2, height, width}).permute({2, 3, 0, 1}).contiguous();
  const at::TensorOptions real = moved.options();
  const at::Tensor steps = at::arange(-1, 2, real);
  const at::Tensor rows = at::arange(height, real).view({-1, 1, 1}) + steps.repeat_interleave(3);
  const at::Tensor columns = at::arange(width, real).view({1, -1, 1}) + steps.repeat({3});
  const at::Tensor taps =
      models::sample_bilinear(models::feature_table(x), (moved.select(3, 1) + columns).flatten(),
                              (moved.select(3, 0) + rows).flatten());
  const at::Tensor gathered = taps.view({height * width, kTaps * x.size(1)}).to(x.scalar_type());
  const at::Tensor matrix = regular_.weight.permute({2, 3, 1, 0}).flatten(0, 2);
  return at::addmm(regular_.bias, gathered, matrix)
      .view({1, height, width, -1})
      .permute({0, 3, 1, 2});
}

at::Tensor DeformableConvolution::reference(const at::Tensor& x) const {
  const std::int64_t height = x.size(2), width = x.size(3);
  const at::Tensor moved = offsets(x);
  at::Tensor sum = regular_.bias.view({1, -1, 1, 1}).expand({1, -1, height, width});
  for (std::int64_t tap = 0; tap < kTaps; ++tap) {
    const std::int64_t row = tap / 3, column = tap % 3;
    const at::Tensor y =
        at::arange(height, moved.options()).view({-1, 1}) + double(row - 1) + moved[0][2 * tap];
    const at::Tensor x_moved =
        at::arange(width, moved.options()) + double(column - 1) + moved[0][2 * tap + 1];
    const at::Tensor grid =
        at::stack({x_moved * 2 / double(width - 1) - 1, y * 2 / double(height - 1) - 1}, 2);
    const at::Tensor sampled = at::grid_sampler_2d(x, grid.unsqueeze(0), 0, 0, true);
    sum = sum + at::conv2d(sampled, regular_.weight.narrow(2, row, 1).narrow(3, column, 1));
  }
  return sum;
}

}  // namespace skyfix::aliked
