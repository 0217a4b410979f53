#include "skyfix/nn/dpt_torch.h"

namespace skyfix::nn {
namespace {

// Some checkpoints name a level's convolution layerN_rn, some layer_rn.K, some both (one tensor).
Convolution read_level(const WeightReader& scratch, int level, const Convolution::Shape& shape) {
  const std::string name = "layer" + std::to_string(level + 1) + "_rn";
  const std::string alias = "layer_rn." + std::to_string(level);
  const bool aliased = !scratch.has(name + ".weight") && scratch.has(alias + ".weight");
  scratch.skip(alias + ".weight");
  Convolution made(scratch, aliased ? alias : name, shape, /*with_bias=*/false);
  made.expect_channels_last();
  return made;
}

}  // namespace

at::Tensor resize_corners(const at::Tensor& x, std::int64_t height, std::int64_t width) {
  return at::upsample_bilinear2d(x, {height, width}, /*align_corners=*/true);
}

DptPyramid::DptPyramid(const WeightReader& weights, const Names& names,
                       const std::array<std::int64_t, 4>& widths)
    : by_4_(weights, names.by_4, widths[0], widths[0], 4),
      by_2_(weights, names.by_2, widths[1], widths[1], 2),
      halve_(weights, names.halve, {.in = widths[3], .out = widths[3], .stride = 2}) {}

at::Tensor DptPyramid::operator()(const at::Tensor& map, int level) const {
  switch (level) {
    case 0:
      return by_4_(map);
    case 1:
      return by_2_(map);
    case 3:
      return halve_(map);
    default:
      return map;
  }
}

DptFusion::DptFusion(const WeightReader& scratch, const DptFusionShape& shape) : shape_(shape) {
  for (int level = 0; level < 4; ++level) {
    levels_[level] = read_level(scratch, level, {.in = shape.widths[level], .out = shape.width});
    const std::string block = "refinenet" + std::to_string(level + 1);
    blocks_[level].unit2 = read_unit(scratch, block + ".resConfUnit2");
    blocks_[level].out =
        Convolution(scratch, block + ".out_conv",
                    {.in = shape.width, .out = shape.width, .kernel = 1, .padding = 0});
    if (level < 3) {
      blocks_[level].unit1 = read_unit(scratch, block + ".resConfUnit1");
    } else {
      scratch.skip_under(block + ".resConfUnit1.");
    }
  }
}

DptFusion::ResidualUnit DptFusion::read_unit(const WeightReader& scratch,
                                             const std::string& name) const {
  const Convolution::Shape shape{.in = shape_.width, .out = shape_.width};
  ResidualUnit unit{Convolution(scratch, name + ".conv1", shape),
                    Convolution(scratch, name + ".conv2", shape), shape_.rectified_skip};
  unit.conv1.expect_channels_last();
  unit.conv2.expect_channels_last();
  return unit;
}

at::Tensor DptFusion::ResidualUnit::operator()(const at::Tensor& x) const {
  const at::Tensor rectified = at::relu(x);
  return conv2(at::relu(conv1(rectified))) + (rectified_skip ? rectified : x);
}

// `next` is the level that the result is added to; undefined for the finest, which is doubled.
at::Tensor DptFusion::fuse(const Block& block, const at::Tensor& x, const at::Tensor& next) const {
  const at::Tensor refined = block.unit2(x);
  if (next.defined() && !shape_.double_and_crop) {
    return block.out(resize_corners(refined, next.size(2), next.size(3)));
  }
  at::Tensor doubled = resize_corners(refined, 2 * x.size(2), 2 * x.size(3));
  if (next.defined()) doubled = doubled.narrow(2, 0, next.size(2)).narrow(3, 0, next.size(3));
  return block.out(doubled);
}

at::Tensor DptFusion::operator()(const std::array<at::Tensor, 4>& pyramid,
                                 const OnMap& on_map) const {
  const auto level_map = [&](int level) {
    const at::Tensor map = levels_[level](pyramid[level]);
    if (on_map) on_map("layer" + std::to_string(level + 1) + "_rn", map);
    return map;
  };
  const auto fused_map = [&](int level, const at::Tensor& x, const at::Tensor& next) {
    const at::Tensor map = fuse(blocks_[level], x, next);
    if (on_map) on_map("refinenet" + std::to_string(level + 1), map);
    return map;
  };
  at::Tensor fused = level_map(3);
  for (int level = 3; level > 0; --level) {
    const at::Tensor next = level_map(level - 1);
    fused = fused_map(level, fused, next) + blocks_[level - 1].unit1(next);
  }
  return fused_map(0, fused, {});
}

}  // namespace skyfix::nn
