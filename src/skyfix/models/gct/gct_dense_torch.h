// The dense heads, depth and points (specification: gctstream.md section 8). Sizes are h x w
// patches of frames of H x W pixels.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <utility>

#include "skyfix/models/gct/gct_config.h"
#include "skyfix/models/gct/gct_grid_torch.h"
#include "skyfix/nn/dpt_torch.h"
#include "skyfix/nn/layers_torch.h"

namespace skyfix::gct {

// The position map E times 0.1. Half of its channels depend on the column alone, the other half on
// the row: kept so.
struct PositionMap {
  at::Tensor columns;                  // [channels / 2, 1, width]
  at::Tensor rows;                     // [channels / 2, height, 1]
  void add_to(at::Tensor& map) const;  // [B, channels, height, width]
};
PositionMap position_map(std::int64_t channels, std::int64_t height, std::int64_t width,
                         double aspect, const at::TensorOptions& options);

class DenseHead {
 public:
  // What becomes of the outputs but the last: exp(l), or sign(l) (exp(|l|) - 1).
  enum class Values { depth, points };

  DenseHead() = default;
  DenseHead(const nn::WeightReader& head, const GctConfig& config, Values values);

  // Taps fp32 [S, P, 2C], special tokens first, to values fp32 [S, H, W, 1 or 3] and confidence
  // fp32 [S, H, W]. Frames are taken `at_once` by at_once.
  std::pair<at::Tensor, at::Tensor> operator()(const std::array<at::Tensor, 4>& taps,
                                               std::int64_t rows, std::int64_t columns,
                                               std::int64_t at_once) const;
  // Before the activation, [S, 2 or 4, H, W]. on_step, for tests, sees stages as the goldens name
  // them, before anything is added to them.
  using OnStep = nn::DptFusion::OnMap;
  at::Tensor logits(const std::array<at::Tensor, 4>& taps, std::int64_t rows, std::int64_t columns,
                    const OnStep& on_step = {}) const;
  // Values and confidence of logits.
  std::pair<at::Tensor, at::Tensor> activated(const at::Tensor& logits) const;

 private:
  struct Maps {
    std::array<PositionMap, 4> levels;
    PositionMap full;
  };
  Maps make_maps(std::int64_t rows, std::int64_t columns) const;
  at::Tensor level(int level, const at::Tensor& tap, std::int64_t rows, std::int64_t columns,
                   const PositionMap& position, const OnStep& on_step) const;

  Values values_ = Values::depth;
  std::int64_t special_ = 0, patch_ = 14;
  nn::LayerNorm norm_;
  std::array<nn::Convolution, 4> projections_;
  nn::DptPyramid pyramid_;
  nn::DptFusion fusion_;
  nn::Convolution output1_, output2_, output3_;
  ByGrid<Maps> maps_;
};

}  // namespace skyfix::gct
