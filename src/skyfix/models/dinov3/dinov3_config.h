// Sizes of a DINOv3 vision transformer: of a known model, from a Hugging Face config.json, or from
// the shapes of a weights file. Specification: dinov3.md sections 1 and 3.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct DinoV3Config {
  int width = 0;
  int blocks = 0;
  int heads = 0;
  int hidden = 0;      // of the feed-forward part
  bool gated = false;  // SwiGLU instead of fc1, GELU, fc2
  int storage_tokens = 4;
  int patch_px = 16;
  bool qkv_bias = true;
  double rope_base = 100;  // for periods that the file does not store
  double norm_epsilon = 1e-5;

  int head_size() const { return width / heads; }
  int special_tokens() const {
    return 1 + storage_tokens;
  }  // class and storage, before the patches
  // "dinov3-vitl16"; "dinov3" for sizes that no known model has.
  std::string model() const;
  bool operator==(const DinoV3Config&) const = default;
};

// "dinov3-vits16", -vits16plus, -vitb16, -vitl16, -vitl16plus, -vith16plus; "dinov3-" may be left
// out, and "-sat" (weights trained on satellite pictures) changes no size. Throws Error(bad_option)
// listing them.
DinoV3Config dinov3_config(std::string_view model);

// From a Hugging Face config.json; what it does not say is left at the defaults. Throws
// Error(bad_weights).
DinoV3Config dinov3_config_from_json(std::string_view json, const std::filesystem::path& file = {});

// From the tensors' shapes. What shapes do not tell is taken from `expected`, or else from the
// Hugging Face config in the source's metadata ("config"), or else it is that of the known models:
// heads from stored rotary periods, or of size 64. Throws Error(bad_weights) when the source holds
// no DINOv3, and when a config contradicts the shapes, listing every contradiction. A synthetic
// source has no shapes and needs `expected`.
DinoV3Config dinov3_config_of(const TensorSource& source,
                              const std::optional<DinoV3Config>& expected = {});

// The block whose features describe places best in the AnyLoc recipe: 31 of 40, the same relative
// depth in other models.
int dinov3_place_layer(const DinoV3Config& config);

}  // namespace skyfix
