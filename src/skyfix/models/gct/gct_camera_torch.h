// The camera head: a pose for each frame, improved in iterations (specification: gctstream.md
// section 7).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "skyfix/models/gct/gct_block_torch.h"
#include "skyfix/models/gct/gct_torch.h"

namespace skyfix::gct {

// Raw [..., 9] to result: fields of view through ReLU.
at::Tensor activated_pose(const at::Tensor& raw);

class CameraHead {
 public:
  CameraHead() = default;
  CameraHead(const nn::WeightReader& camera_head, const GctConfig& config);

  // Raw poses fp32 [S, 9] of every iteration. `tokens` fp32 [S, 2C]: the last tap's camera tokens;
  // `rotation` null: no positions. on_step, for tests, sees stages as the goldens name them.
  using OnStep = std::function<void(const std::string& name, const at::Tensor& value)>;
  std::vector<at::Tensor> operator()(const at::Tensor& tokens, int iterations,
                                     const Rotation* rotation, GctMemory& memory,
                                     const OnStep& on_step = {}) const;

 private:
  at::Tensor modulated(const at::Tensor& token, const at::Tensor& pose, const OnStep& on_step,
                       const std::string& call) const;

  at::Tensor empty_pose_;  // [1, 1, 9]
  nn::LayerNorm token_norm_, trunk_norm_;
  nn::Linear embed_pose_, modulation_, fc1_, fc2_;
  std::vector<Block> trunk_;
};

}  // namespace skyfix::gct
