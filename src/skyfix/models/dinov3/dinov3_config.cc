#include "skyfix/models/dinov3/dinov3_config.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_dinov3.h"
#include "skyfix/models/dinov3/dinov3_names.h"

namespace skyfix {
namespace {

constexpr std::string_view kFamily = "dinov3-", kSatellite = "-sat";
constexpr int kUsualHeadSize = 64;
constexpr std::int64_t kLargestSide = 8192;  // of a layer, in the largest model

// The shape of a tensor; Error(bad_weights) when it is not there or not of that rank.
const std::vector<std::int64_t>& shape_of(const TensorSource& source, const std::string& name,
                                          std::size_t rank) {
  const StoredTensor* tensor = source.find(name);
  if (tensor == nullptr) {
    throw Error(Reason::bad_weights, "these are not weights of DINOv3: " + name + " is missing",
                source.description());
  }
  bool usable = tensor->shape.size() == rank;
  for (const std::int64_t side : tensor->shape) usable &= side >= 1 && side <= kLargestSide;
  if (!usable) {
    throw Error(Reason::bad_weights,
                "these are not weights of DINOv3: " + name + " is " + shape_text(tensor->shape),
                source.description());
  }
  return tensor->shape;
}

int count_blocks(const TensorSource& source, const DinoV3Names& names) {
  int blocks = 0;
  while (source.find(names("blocks." + std::to_string(blocks) + ".norm1.weight")) != nullptr) {
    ++blocks;
  }
  return blocks;
}

int heads_of_shapes(const TensorSource& source, int width) {
  int head_size = kUsualHeadSize;
  if (source.find("rope_embed.periods") != nullptr) {
    head_size = 4 * int(shape_of(source, "rope_embed.periods", 1)[0]);
  }
  if (width % head_size != 0) {
    throw Error(Reason::bad_weights,
                "a width of " + std::to_string(width) + " cannot be split into heads of " +
                    std::to_string(head_size) +
                    "; give the model's config.json, which says how many there are",
                source.description());
  }
  return width / head_size;
}

DinoV3Config config_of_shapes(const TensorSource& source) {
  const DinoV3Names names(source);
  DinoV3Config config;
  config.width = int(shape_of(source, names("cls_token"), 3)[2]);
  config.blocks = count_blocks(source, names);
  if (config.blocks == 0) shape_of(source, names("blocks.0.norm1.weight"), 1);  // throws
  // "up_proj" is in both kinds of feed-forward part, the gate in one.
  const std::string gate = names("blocks.0.mlp.w1.weight");
  config.gated = source.find(gate) != nullptr;
  config.hidden =
      int(shape_of(source, config.gated ? gate : names("blocks.0.mlp.fc1.weight"), 2)[0]);
  const std::string storage = names("storage_tokens");
  config.storage_tokens =
      source.find(storage) == nullptr ? 0 : int(shape_of(source, storage, 3)[1]);
  config.patch_px = int(shape_of(source, names("patch_embed.proj.weight"), 4)[2]);
  const bool together = names.layout() == DinoV3Names::Layout::official;
  config.qkv_bias =
      source.find(names(together ? "blocks.0.attn.qkv.bias" : "blocks.0.attn.q.bias")) != nullptr;
  return config;
}

class Contradictions {
 public:
  template <class Value>
  void compare(std::string_view what, Value said, Value found) {
    if (said == found) return;
    text_ += (text_.empty() ? "" : "; ") + std::string(what) + " is " + std::to_string(said) +
             " in the config and " + std::to_string(found) + " in the file";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void check_config(const DinoV3Config& said, const DinoV3Config& found, const TensorSource& source) {
  Contradictions contradictions;
  contradictions.compare("the width", said.width, found.width);
  contradictions.compare("the number of blocks", said.blocks, found.blocks);
  contradictions.compare("the feed-forward width", said.hidden, found.hidden);
  contradictions.compare("gated", int(said.gated), int(found.gated));
  contradictions.compare("the number of storage tokens", said.storage_tokens, found.storage_tokens);
  contradictions.compare("the patch size", said.patch_px, found.patch_px);
  if (source.find("rope_embed.periods") != nullptr) {
    contradictions.compare("the number of heads", said.heads, heads_of_shapes(source, found.width));
  }
  if (contradictions.text().empty()) return;
  throw Error(Reason::bad_weights,
              "the config does not belong to these weights: " + contradictions.text(),
              source.description());
}

// Rotary pairs need heads of a multiple of four.
void check_heads(const DinoV3Config& config, const std::filesystem::path& file) {
  if (config.heads >= 1 && config.width >= 1 && config.width % (4 * config.heads) == 0) return;
  throw Error(
      Reason::bad_weights,
      std::to_string(config.heads) + " heads do not fit a width of " + std::to_string(config.width),
      file);
}

std::optional<DinoV3Config> config_in_metadata(const TensorSource& source) {
  const auto found = source.metadata().find("config");
  if (found == source.metadata().end()) return std::nullopt;
  if (found->second.find("\"hidden_size\"") == std::string::npos) return std::nullopt;
  return dinov3_config_from_json(found->second, source.description());
}

}  // namespace

std::string DinoV3Config::model() const {
  for (const Dinov3Model& known : dinov3_models()) {
    DinoV3Config same = dinov3_config(known.name);
    same.qkv_bias = qkv_bias;
    if (same == *this) return std::string(known.name);
  }
  return "dinov3";
}

DinoV3Config dinov3_config(std::string_view model) {
  std::string name(model.starts_with(kFamily) ? model.substr(kFamily.size()) : model);
  if (name.ends_with(kSatellite)) name.resize(name.size() - kSatellite.size());
  const auto known = dinov3_model(std::string(kFamily) + name);
  if (!known) {
    std::string names;
    for (const Dinov3Model& each : dinov3_models()) {
      names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    throw Error(Reason::bad_option, std::string(model) + " is not one of " + names);
  }
  DinoV3Config config;
  config.width = int(known->width);
  config.blocks = int(known->blocks);
  config.heads = config.width / kUsualHeadSize;
  config.hidden = int(known->hidden);
  config.gated = known->gated;
  return config;
}

DinoV3Config dinov3_config_from_json(std::string_view json, const std::filesystem::path& file) {
  DinoV3Config config;
  try {
    const auto said = nlohmann::json::parse(json);
    config.width = said.at("hidden_size").get<int>();
    config.blocks = said.at("num_hidden_layers").get<int>();
    config.heads = said.at("num_attention_heads").get<int>();
    config.hidden = said.at("intermediate_size").get<int>();
    config.gated = said.value("use_gated_mlp", config.gated);
    config.storage_tokens = said.value("num_register_tokens", config.storage_tokens);
    config.patch_px = said.value("patch_size", config.patch_px);
    config.rope_base = said.value("rope_theta", config.rope_base);
    config.norm_epsilon = said.value("layer_norm_eps", config.norm_epsilon);
  } catch (const nlohmann::json::exception& error) {
    throw Error(Reason::bad_weights,
                "this is not a config.json of DINOv3: " + std::string(error.what()), file);
  }
  check_heads(config, file);
  return config;
}

DinoV3Config dinov3_config_of(const TensorSource& source,
                              const std::optional<DinoV3Config>& expected) {
  if (source.synthetic()) {
    if (!expected) {
      throw Error(Reason::bad_option,
                  "synthetic weights take the size of a model: name one, such as dinov3-vitl16");
    }
    check_heads(*expected, source.description());
    return *expected;
  }
  DinoV3Config config = config_of_shapes(source);
  const auto said = expected ? expected : config_in_metadata(source);
  if (said) {
    check_config(*said, config, source);
    config.heads = said->heads;
    config.rope_base = said->rope_base;
    config.norm_epsilon = said->norm_epsilon;
  } else {
    config.heads = heads_of_shapes(source, config.width);
  }
  check_heads(config, source.description());
  return config;
}

int dinov3_place_layer(const DinoV3Config& config) { return config.blocks * 31 / 40; }

}  // namespace skyfix
