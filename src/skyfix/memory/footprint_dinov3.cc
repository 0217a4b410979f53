#include "skyfix/memory/footprint_dinov3.h"

#include <algorithm>
#include <cmath>

#include "skyfix/memory/footprint_transformer.h"

namespace skyfix {
namespace {

constexpr std::int64_t kPatch = 16;
constexpr std::int64_t kStorageTokens = 4;
constexpr std::int64_t kWords = 64;

BlockShape block_of(const Dinov3Model& model) {
  return {.width = model.width, .hidden = model.hidden, .layer_scale = true, .gated = model.gated};
}

std::int64_t patches_along(std::int64_t side, double scale) {
  const double patches = std::nearbyint(static_cast<double>(side) * scale / kPatch);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(patches));
}

}  // namespace

const std::vector<Dinov3Model>& dinov3_models() {
  static const std::vector<Dinov3Model> models = {
      {"dinov3-vits16", 384, 12, 1536, false},     {"dinov3-vits16plus", 384, 12, 1536, true},
      {"dinov3-vitb16", 768, 12, 3072, false},     {"dinov3-vitl16", 1024, 24, 4096, false},
      {"dinov3-vitl16plus", 1024, 24, 4096, true}, {"dinov3-vith16plus", 1280, 32, 5120, true}};
  return models;
}

std::optional<Dinov3Model> dinov3_model(std::string_view name) {
  for (const Dinov3Model& model : dinov3_models()) {
    if (model.name == name) return model;
  }
  return std::nullopt;
}

std::int64_t dinov3_parameters(const Dinov3Model& model) {
  const std::int64_t tokens = (1 + kStorageTokens + 1) * model.width;
  return tokens + convolution_parameters(3, model.width, kPatch) +
         model.blocks * block_parameters(block_of(model)) + norm_parameters(model.width);
}

std::int64_t dinov3_tokens(std::int64_t width, std::int64_t height, std::int64_t long_side) {
  const double longest = static_cast<double>(std::max(width, height));
  const double scale = std::min(1.0, static_cast<double>(long_side) / longest);
  return 1 + kStorageTokens + patches_along(width, scale) * patches_along(height, scale);
}

ComponentNeed dinov3_need(const Dinov3Model& model, std::int64_t tokens, DataType type,
                          bool stream_weights) {
  ComponentNeed need{.owner = std::string(model.name)};
  need.weights_bytes = dinov3_parameters(model) * data_type_bytes(type);
  if (stream_weights) {
    need.host_bytes = need.weights_bytes;
    need.weights_bytes = 2 * block_parameters(block_of(model)) * data_type_bytes(type);
  }
  // The picture in float32 and normalised; the taken facet, normalised, in float32; the words.
  const std::uint64_t picture = tokens * kPatch * kPatch * 3 * (4 + data_type_bytes(type));
  const std::uint64_t vlad = (tokens * 2 + kWords * 2) * model.width * 4 + tokens * kWords * 4;
  need.workspace_bytes = picture + vlad + block_activation_bytes(block_of(model), tokens, type);
  return need;
}

}  // namespace skyfix
