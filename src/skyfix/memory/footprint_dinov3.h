// The memory model of DINOv3's vision transformers as global descriptors. Parameter counts are
// exact, activations estimates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/memory/footprint.h"

namespace skyfix {

struct Dinov3Model {
  std::string_view name = {};  // "dinov3-vitl16"
  std::int64_t width = 0;
  std::int64_t blocks = 0;
  std::int64_t hidden = 0;
  bool gated = false;
};
// From the smallest to the largest.
const std::vector<Dinov3Model>& dinov3_models();
std::optional<Dinov3Model> dinov3_model(std::string_view name);

// With the mask token and the k part of the qkv bias, as in the files.
std::int64_t dinov3_parameters(const Dinov3Model& model);

// Class token, four storage tokens and the patches of 16 px of a picture scaled (never up) to the
// long side, both sides rounded to a multiple of 16, at least one patch each.
std::int64_t dinov3_tokens(std::int64_t width, std::int64_t height, std::int64_t long_side);

// One picture at a time: weights and activations in `type`; VLAD over 64 words on the device.
// `stream_weights`: from the host, two blocks on the device at a time.
ComponentNeed dinov3_need(const Dinov3Model& model, std::int64_t tokens, DataType type,
                          bool stream_weights = false);

}  // namespace skyfix
