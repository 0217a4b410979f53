// DINOv3 on tensors: what dinov3.h is made of, and what parity tests look into.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "skyfix/models/dinov3/dinov3.h"
#include "skyfix/models/dinov3/dinov3_names.h"
#include "skyfix/nn/layers_torch.h"
#include "skyfix/nn/rotary_torch.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix {

// Shapes: B pictures, T = 1 + storage tokens + patches (in this order, patches row-major), D the
// width, d the head size.
class DinoV3Network {
 public:
  // Asks for every tensor of the model; the caller finishes the reader.
  DinoV3Network(const nn::WeightReader& weights, const DinoV3Names& names,
                const DinoV3Config& config);

  const DinoV3Config& config() const { return config_; }

  // Normalised picture fp32 [B,3,H,W] -> tokens [B,T,D] in the weights' precision. Rows and columns
  // that do not fill a patch are left out.
  at::Tensor embed(const at::Tensor& image) const;
  // fp32 [T,d] each. Class and storage tokens have sine 0 and cosine 1: they are not turned.
  using Rotary = nn::RotaryCode;
  Rotary rotary(std::int64_t rows, std::int64_t columns) const;
  // Raw output of block n.
  at::Tensor block(std::size_t n, const at::Tensor& tokens, const Rotary& rotary) const;
  // Query, key or value of block n for the tokens that enter it: [B,T,D].
  at::Tensor facet(std::size_t n, const at::Tensor& tokens, DinoV3Facet facet) const;
  // The final norm over all tokens.
  at::Tensor normalise(const at::Tensor& tokens) const;

  // Layer and facet of the patches alone, [B, patches, D].
  at::Tensor patches(const at::Tensor& image, std::size_t layer, DinoV3Facet facet) const;

 private:
  struct FeedForward {
    nn::Linear in;    // fc1 or w1
    nn::Linear gate;  // w2 of a gated one
    nn::Linear out;   // fc2 or w3
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct Block {
    nn::LayerNorm norm1, norm2;
    nn::Linear qkv, projection;
    at::Tensor scale1, scale2;  // LayerScale, [D]
    FeedForward feed_forward;
  };
  Block read_block(const nn::WeightReader& weights, const DinoV3Names& names, int n) const;
  nn::Linear read_qkv(const nn::WeightReader& weights, const DinoV3Names& names,
                      const std::string& attention) const;
  FeedForward read_feed_forward(const nn::WeightReader& weights, const DinoV3Names& names,
                                const std::string& mlp) const;
  void read_periods(const nn::WeightReader& weights);
  at::Tensor attend(const Block& block, const at::Tensor& x, const Rotary& rotary) const;

  DinoV3Config config_;
  at::Tensor class_token_, storage_tokens_;  // [1,1,D], [1,R,D]
  nn::PatchEmbedding embedding_;
  at::Tensor periods_;  // fp32 [d/4]
  std::vector<Block> blocks_;
  nn::LayerNorm norm_;
  nn::LayerNorm special_norm_;  // of class and storage tokens, where the model has its own
};

// A picture as the network takes it: fp32 [1,3,H,W], antialiased bilinear resize to whole patches,
// then (value - mean) / deviation.
at::Tensor dinov3_input(const PictureView& picture, const PatchGrid& grid, int patch_px,
                        DinoV3Colours colours, DeviceKind device);

}  // namespace skyfix
