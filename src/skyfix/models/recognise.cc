#include "skyfix/models/recognise.h"

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/models/dinov3/dinov3_config.h"
#include "skyfix/models/weights.h"

namespace skyfix {
namespace {

using Shape = std::vector<std::int64_t>;

bool has(const TensorSource& source, std::string_view name, const Shape& shape) {
  const StoredTensor* tensor = source.find(name);
  return tensor != nullptr && tensor->shape == shape;
}

std::vector<std::string> dinov3_with_tensors(const TensorSource& source) {
  try {
    const std::string name = dinov3_config_of(source).model();
    const auto models = known_models();
    if (std::none_of(models.begin(), models.end(),
                     [&](const KnownModel& model) { return model.name == name; })) {
      return {};
    }
    if (name != "dinov3-vitl16") return {name};
    const bool satellite = source.find("local_cls_norm.weight") != nullptr;
    // The Hugging Face layout leaves that tensor out.
    if (satellite) return {"dinov3-vitl16-sat"};
    const bool official = source.find("cls_token") != nullptr;
    return official ? std::vector<std::string>{name}
                    : std::vector<std::string>{name, "dinov3-vitl16-sat"};
  } catch (const Error&) {
    return {};  // no DINOv3
  }
}

}  // namespace

std::vector<std::string> models_with_tensors(const TensorSource& source) {
  if (has(source, "keypoint_head.3.weight", {65, 64, 1, 1}) &&
      has(source, "heatmap_head.2.weight", {1, 64, 1, 1})) {
    return {"xfeat"};
  }
  if (has(source, "matcher.input_proj.weight", {96, 64})) return {"lighterglue"};
  if (has(source, "input_proj.weight", {256, 128}) &&
      has(source, "transformers.0.self_attn.Wqkv.weight", {768, 256})) {
    return {"lightglue-aliked"};
  }
  if (has(source, "desc_head.agg_weights", {16, 128, 128}) &&
      has(source, "score_head.6.weight", {1, 4, 3, 3})) {
    return {"aliked-n16rot", "aliked-n16"};
  }
  if (source.find("downstream_head1.head_local_features.fc1.weight") != nullptr &&
      source.find("dec_blocks.0.cross_attn.projq.weight") != nullptr) {
    return {"mast3r"};
  }
  if (source.find("aggregator.camera_token") != nullptr &&
      source.find("camera_head.empty_pose_tokens") != nullptr) {
    return {"gct"};
  }
  return dinov3_with_tensors(source);
}

std::string model_with_digest(std::string_view sha256) {
  for (const KnownModel& model : known_models()) {
    if (!model.sha256.empty() && model.sha256 == sha256) return model.name;
  }
  return {};
}

}  // namespace skyfix
