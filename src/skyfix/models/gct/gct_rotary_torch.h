// Rotary positions of the GCT (specification: gctstream.md sections 6.1, 6.2 and 7), for
// nn::rotate_heads.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "skyfix/models/gct/gct_config.h"
#include "skyfix/nn/rotary_torch.h"

namespace skyfix::gct {

// A block's heads and how their positions turn them.
struct Rotation {
  nn::RotaryCode code;
  std::int64_t parts = 1;
  bool neighbours = false;
};

// Within a frame, by halves: [P, 2, head size / 2]. Special tokens lie at (0, 0), the patch of row
// y and column x at (y + 1, x + 1).
Rotation frame_rotation(const GctConfig& config, std::int64_t rows, std::int64_t columns,
                        at::Device device);

// Sines and cosines, fp32 [n, dimensions], of neighbouring pairs at fp64 positions [n]. Angles are
// fp64.
nn::RotaryCode turned_by(const at::Tensor& positions, std::int64_t dimensions);

// What the global blocks' rotation has of a frame's rows and columns: [P, row + column dimensions].
nn::RotaryCode spatial_code(const GctConfig& config, std::int64_t rows, std::int64_t columns,
                            at::Device device);
// Frames' time indices, fp64 [S] on the device, with it: code [S * P, head size]. Waits for
// nothing, and has no limit.
Rotation global_rotation(const GctConfig& config, const at::Tensor& times,
                         const nn::RotaryCode& spatial);

// The camera head's: frames at (time, 0, 0), code [S, head size].
Rotation camera_rotation(const GctConfig& config, const at::Tensor& times);

// Time indices first, first + 1, ...: fp64 [count].
at::Tensor time_indices(std::int64_t first, std::int64_t count, at::Device device);

}  // namespace skyfix::gct
