// Feature maps read at any place, and what the local networks share around it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <vector>

#include "skyfix/models/local_network.h"

namespace skyfix::models {

// A map of `height` x `width` cells with one row of channels a cell, cells in raster order: what is
// read at one place lies together in memory.
struct FeatureTable {
  at::Tensor rows;  // [height*width, channels] fp32
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// [1, C, h, w] of any precision.
FeatureTable feature_table(const at::Tensor& map);

// Samples [n, C] at cells (x, y) [n] fp32; cells outside count as zeros, as does a place that is
// not finite. Bicubic has a = -0.75.
at::Tensor sample_bilinear(const FeatureTable& table, const at::Tensor& x, const at::Tensor& y);
at::Tensor sample_bicubic(const FeatureTable& table, const at::Tensor& x, const at::Tensor& y);

// The maximum of the 5x5 window around each cell of a map [h, w]; nothing counts outside.
at::Tensor window_maximum(const at::Tensor& map);

// The 5x5 windows [n, 25] of a map [h, w] around the cells of the given raster indices [n] (int64),
// row by row; zeros outside.
at::Tensor windows_of_5(const at::Tensor& map, const at::Tensor& cells);
// The places of a window's 25 values from its centre, fp32 [25]: x, y.
std::pair<at::Tensor, at::Tensor> window_offsets(const at::Tensor& like);

// Rows divided by their length; rows of zeros stay.
at::Tensor unit_rows(const at::Tensor& rows);

// Places given as [n,2] on the device, and results back.
at::Tensor places_tensor(std::span<const float> xy, at::Device device);
std::vector<float> to_floats(const at::Tensor& values);

// Throws Error(image_too_small) below 32 px a side.
void check_size(const PictureView& picture);

}  // namespace skyfix::models
