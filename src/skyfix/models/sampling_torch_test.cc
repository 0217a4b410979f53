#include "skyfix/models/sampling_torch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "skyfix/base/error.h"

namespace skyfix::models {
namespace {

// LibTorch's own sampler is the twin: `mode` 0 is bilinear, 2 bicubic.
at::Tensor sampled_by_grid(const at::Tensor& map, const at::Tensor& x, const at::Tensor& y,
                           int mode) {
  const at::Tensor grid =
      at::stack({x * 2 / double(map.size(3) - 1) - 1, y * 2 / double(map.size(2) - 1) - 1}, 1)
          .view({1, 1, -1, 2});
  return at::grid_sampler_2d(map, grid, mode, /*zeros*/ 0, /*align_corners=*/true)
      .view({map.size(1), -1})
      .t();
}

TEST(Sampling, EqualsGridSampler) {
  at::manual_seed(1);
  const at::Tensor map = at::randn({1, 5, 7, 11});
  const FeatureTable table = feature_table(map);
  // Inside, on the border and outside.
  const at::Tensor x = at::rand({400}) * 17 - 3, y = at::rand({400}) * 13 - 3;
  EXPECT_TRUE(
      at::allclose(sample_bilinear(table, x, y), sampled_by_grid(map, x, y, 0), 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(sample_bicubic(table, x, y), sampled_by_grid(map, x, y, 2), 1e-4, 1e-5));
}

TEST(Sampling, ReadsCellsAtWholePlaces) {
  const at::Tensor map = at::randn({1, 3, 4, 6});
  const FeatureTable table = feature_table(map);
  const at::Tensor x = at::tensor({0.0F, 5.0F, 2.0F}), y = at::tensor({0.0F, 3.0F, 1.0F});
  const at::Tensor cells = table.rows.index_select(0, at::tensor({0, 23, 8}));
  EXPECT_TRUE(at::equal(sample_bilinear(table, x, y), cells));
  EXPECT_TRUE(at::allclose(sample_bicubic(table, x, y), cells));
}

TEST(Sampling, GivesZerosForPlacesThatAreNone) {
  const FeatureTable table = feature_table(at::ones({1, 2, 4, 4}));
  const float nan = std::nanf(""), huge = std::numeric_limits<float>::infinity();
  const at::Tensor x = at::tensor({nan, huge, -huge, 1.0F}),
                   y = at::tensor({1.0F, 1.0F, 1.0F, 9e30F});
  EXPECT_EQ(sample_bicubic(table, x, y).abs().sum().item<float>(), 0);
  EXPECT_EQ(sample_bilinear(table, x.slice(0, 0, 0), y.slice(0, 0, 0)).size(0), 0);
}

TEST(Sampling, WindowsHoldNeighboursRowByRow) {
  const at::Tensor map = at::arange(1, 43, at::kFloat).view({6, 7});
  const at::Tensor windows = windows_of_5(map, at::tensor({0, 16}, at::kLong));
  EXPECT_EQ(windows[0][12].item<float>(), 1);                     // the cell itself
  EXPECT_EQ(windows[0].narrow(0, 0, 12).sum().item<float>(), 0);  // outside
  EXPECT_TRUE(at::equal(windows[1].view({5, 5}), map.narrow(0, 0, 5).narrow(1, 0, 5)));
  const auto [x, y] = window_offsets(windows);
  EXPECT_EQ(x[10].item<float>(), -2);
  EXPECT_EQ(y[10].item<float>(), 0);
}

TEST(Sampling, WindowMaximumEqualsPooling) {
  const at::Tensor map = at::randn({9, 13}) - 3;
  const at::Tensor pooled =
      at::max_pool2d(map.view({1, 1, 9, 13}), {5, 5}, {1, 1}, {2, 2}).view({9, 13});
  EXPECT_TRUE(at::equal(window_maximum(map), pooled));
}

TEST(Sampling, UnitRowsLeaveZeros) {
  const at::Tensor rows = unit_rows(at::tensor({3.0F, 4.0F, 0.0F, 0.0F}).view({2, 2}));
  EXPECT_TRUE(at::allclose(rows, at::tensor({0.6F, 0.8F, 0.0F, 0.0F}).view({2, 2})));
}

TEST(Sampling, PlacesAndResultsSurviveTheDoor) {
  const std::vector<float> xy = {1, 2, 3, 4};
  EXPECT_EQ(to_floats(places_tensor(xy, at::kCPU)), xy);
  EXPECT_EQ(places_tensor({}, at::kCPU).size(0), 0);
}

TEST(Sampling, SmallPicturesAreRefused) {
  const std::uint8_t pixel = 0;
  EXPECT_NO_THROW(check_size({&pixel, 32, 32, 1}));
  EXPECT_THROW(check_size({&pixel, 31, 4000, 3}), Error);
}

}  // namespace
}  // namespace skyfix::models
