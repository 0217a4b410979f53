// Alternating attention within frames and over frames (specification: gctstream.md sections 5 and
// 6). Tokens are fp32 [S, P, C].
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <vector>

#include "skyfix/models/gct/gct_block_torch.h"
#include "skyfix/models/gct/gct_grid_torch.h"
#include "skyfix/models/gct/gct_torch.h"

namespace skyfix::gct {

class Aggregator {
 public:
  Aggregator() = default;
  Aggregator(const nn::WeightReader& aggregator, const GctConfig& config);

  // As GctNetwork's.
  at::Tensor with_special_tokens(const at::Tensor& patches, const GctCall& call) const;
  std::array<at::Tensor, 4> operator()(const at::Tensor& tokens, std::int64_t rows,
                                       std::int64_t columns, const GctCall& call, GctMemory& memory,
                                       const GctNetwork::OnStage& on_stage,
                                       const GctNetwork::OnPair& each_pair) const;

 private:
  struct GridCodes {
    Rotation frame;
    nn::RotaryCode spatial;
  };
  GctConfig config_;
  at::Tensor camera_token_, register_token_, scale_token_;  // [2, tokens, C]
  std::vector<Block> frame_blocks_, global_blocks_;
  ByGrid<GridCodes> codes_;
};

}  // namespace skyfix::gct
