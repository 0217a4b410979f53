// The numbers of a MASt3R network: what the tensors' shapes say, what the file says of itself, and
// whether the two agree. Specification: mast3r.md, sections 2 and 3.
#pragma once

#include <array>
#include <string_view>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct Mast3rConfig {
  int patch = 16;
  int encoder_width = 1024;
  int encoder_depth = 24;
  int encoder_heads = 16;
  int decoder_width = 768;
  int decoder_depth = 12;
  int decoder_heads = 12;
  int encoder_hidden = 4096;  // of the blocks' MLPs
  int decoder_hidden = 3072;
  double rotary_base = 100;
  int descriptor_size = 24;
  int descriptor_hidden = 7168;  // of the descriptors' MLP
  int fused_width = 256;         // of the dense head's maps
  int last_width = 128;
  std::array<int, 4> level_widths{96, 192, 384, 768};
  double confidence_floor = 1;             // conf = floor + exp(raw)
  double descriptor_confidence_floor = 0;  // likewise
  bool operator==(const Mast3rConfig&) const = default;

  // Entries of the decoder's list of states that the dense head reads; 0 is the encoder feature.
  std::array<int, 4> hooks() const;
};

// The public checkpoint's numbers for synthetic weights. Else from the shapes, completed by
// metadata "args.model" (the constructor's text) or "config" (that text, or config.json's); without
// either, attention heads are 64 wide, as in the public checkpoint. Only names and shapes of the
// tensors are looked at.
// Throws Error(bad_weights): not a MASt3R file, another kind of head or output, or a text that
// contradicts the shapes.
Mast3rConfig mast3r_config(const TensorSource& weights);

// The same from a text given.
Mast3rConfig mast3r_config(const TensorSource& weights, std::string_view text);

}  // namespace skyfix
