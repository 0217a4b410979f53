// Sizes of the geometric context transformer: official, the goldens' tiny ones, or from the shapes
// of a weights file. Specification: gctstream.md sections 1 and 15.
#pragma once

#include <array>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct GctConfig {
  int width = 1024;  // C
  int encoder_blocks = 24;
  int encoder_heads = 16;
  int pairs = 24;  // of a frame block and a global block
  int heads = 16;  // of both
  int mlp_ratio = 4;
  int patch_px = 14;
  int position_grid = 37;  // of the encoder's position embedding, each way
  int register_tokens = 4;
  std::array<int, 4> taps{4, 11, 17, 23};       // pairs whose tokens the heads see
  std::array<int, 3> rotary_split{20, 22, 22};  // head size by time, row, column
  int camera_blocks = 4;
  int camera_heads = 16;
  std::array<int, 3> camera_rotary_split{40, 44, 44};
  int dense_features = 256;
  std::array<int, 4> dense_channels{256, 512, 1024, 1024};
  std::array<int, 2> dense_final{128, 32};  // output_conv1, output_conv2.0
  bool point_head = false;

  int special_tokens() const { return 2 + register_tokens; }  // camera, registers, scale
  int head_size() const { return width / heads; }
  int camera_width() const { return 2 * width; }
  bool operator==(const GctConfig&) const = default;
};

GctConfig gct_official();
GctConfig gct_tiny();
// From names and shapes; what shapes do not tell (heads, taps, rotary split) is that of the
// official or the tiny configuration, whichever has the width. point_head: whether the file has
// one. Throws Error(bad_weights) when it is no GCT or another size.
GctConfig gct_config_of(const TensorSource& source);

}  // namespace skyfix
