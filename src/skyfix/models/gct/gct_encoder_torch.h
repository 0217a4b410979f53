// The image encoder: DINOv2 with registers (specification: gctstream.md section 4). Tokens are
// fp32 [S, 1 + registers + h * w, C]: class, registers, patches.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "skyfix/models/gct/gct_block_torch.h"
#include "skyfix/models/gct/gct_grid_torch.h"

namespace skyfix::gct {

// A stored position embedding [1, 1 + grid * grid, C] (class entry first) for h x w patches:
// [1, 1 + h * w, C], fp32.
at::Tensor resized_positions(const at::Tensor& stored, std::int64_t grid, std::int64_t rows,
                             std::int64_t columns);

class Encoder {
 public:
  Encoder() = default;
  Encoder(const nn::WeightReader& patch_embed, const GctConfig& config);

  // fp32 [S, 3, H, W] in 0..1 -> patch tokens fp32 [S, h * w, C].
  at::Tensor operator()(const at::Tensor& images) const;

  // Its stages.
  at::Tensor patches(const at::Tensor& images) const;  // [S, h * w, C], without positions
  at::Tensor embed(const at::Tensor& images) const;    // what enters block 0
  at::Tensor block(std::size_t n, const at::Tensor& tokens) const;
  at::Tensor normalise(const at::Tensor& tokens) const;

 private:
  std::int64_t grid_ = 0, registers_ = 0;
  at::Tensor mean_, deviation_;  // [3, 1, 1]
  nn::PatchEmbedding embedding_;
  at::Tensor class_token_, register_tokens_, positions_;
  std::vector<Block> blocks_;
  nn::LayerNorm norm_;
  ByGrid<at::Tensor> resized_;
};

}  // namespace skyfix::gct
