#include "skyfix/models/dinov3/dinov3_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

using Renaming = std::pair<std::string_view, std::string_view>;  // official, Hugging Face

constexpr Renaming kOutside[] = {
    {"cls_token", "embeddings.cls_token"},
    {"storage_tokens", "embeddings.register_tokens"},
    {"mask_token", "embeddings.mask_token"},
    {"patch_embed.proj", "embeddings.patch_embeddings"},
};
constexpr Renaming kInBlocks[] = {
    {"attn.q", "attention.q_proj"},
    {"attn.k", "attention.k_proj"},
    {"attn.v", "attention.v_proj"},
    {"attn.proj", "attention.o_proj"},
    {"ls1.gamma", "layer_scale1.lambda1"},
    {"ls2.gamma", "layer_scale2.lambda1"},
    {"mlp.fc1", "mlp.up_proj"},
    {"mlp.fc2", "mlp.down_proj"},
    {"mlp.w1", "mlp.gate_proj"},
    {"mlp.w2", "mlp.up_proj"},
    {"mlp.w3", "mlp.down_proj"},
};
constexpr std::string_view kOfficialBlocks = "blocks.";

// The name with its beginning replaced where the table has it, up to a dot or the end.
template <class Table>
std::string renamed(std::string_view name, const Table& table) {
  for (const auto& [official, other] : table) {
    if (!name.starts_with(official)) continue;
    const std::string_view rest = name.substr(official.size());
    if (rest.empty() || rest.front() == '.') return std::string(other) + std::string(rest);
  }
  return std::string(name);
}

[[noreturn]] void no_dinov3(const TensorSource& source) {
  std::string some;
  const auto names = source.names();
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i) {
    some += (i == 0 ? "it holds " : ", ") + names[i];
  }
  throw Error(Reason::bad_weights,
              "these are not weights of DINOv3: there is neither cls_token nor "
              "embeddings.cls_token; " +
                  (some.empty() ? "it holds no tensors" : some),
              source.description());
}

}  // namespace

DinoV3Names::DinoV3Names(const TensorSource& source) {
  if (source.synthetic() || source.find("cls_token") != nullptr) return;
  if (source.find("embeddings.cls_token") == nullptr) no_dinov3(source);
  layout_ = Layout::hugging_face;
  const auto names = source.names();
  const bool newer = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("model.layer.");
  });
  block_prefix_ = newer ? "model.layer." : "layer.";
}

std::string DinoV3Names::operator()(std::string_view official) const {
  if (layout_ == Layout::official) return std::string(official);
  if (!official.starts_with(kOfficialBlocks)) return renamed(official, kOutside);
  const std::string_view rest = official.substr(kOfficialBlocks.size());
  const std::size_t number_end = rest.find('.');
  return block_prefix_ + std::string(rest.substr(0, number_end)) + "." +
         renamed(rest.substr(number_end + 1), kInBlocks);
}

}  // namespace skyfix
