// Names of DINOv3's tensors in its two layouts. The network asks under the official names; a file
// may carry the Hugging Face ones. Specification: dinov3.md section 3.
#pragma once

#include <string>
#include <string_view>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

class DinoV3Names {
 public:
  enum class Layout { official, hugging_face };
  // Told by the class token's name; official for synthetic sources. Throws Error(bad_weights) where
  // there is none of either.
  explicit DinoV3Names(const TensorSource& source);

  Layout layout() const { return layout_; }
  // The file's name of an official tensor or module ("blocks.3.attn.proj.weight",
  // "blocks.3.attn.proj"). Hugging Face stores queries, keys and values apart: they are asked for
  // as "blocks.N.attn.q", ".k" and ".v". Gated feed-forward parts use names of their own, w1 to w3.
  std::string operator()(std::string_view official) const;

 private:
  Layout layout_ = Layout::official;
  std::string block_prefix_;  // "layer." or "model.layer."
};

}  // namespace skyfix
