// Rotary position codes on the heads of an attention, where they lie.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace skyfix::nn {

// fp32 [tokens, parts, D] each (or [tokens, D] for one part), D = head size / parts.
struct RotaryCode {
  at::Tensor sin, cos;
};

struct RotaryHeads {
  std::int64_t heads = 0;  // the first of each row; what follows them is left alone
  std::int64_t size = 0;   // of a head
  std::int64_t parts = 1;  // of a head, each turned by halves with a code of its own
};

// Turns the heads at the beginning of every row of `rows` [B, tokens, row] (dense) in place, as
// rotate_halves does: one kernel on a GPU. Twin, to the bit: rotate_heads_reference.
void rotate_heads(at::Tensor& rows, const RotaryHeads& heads, const RotaryCode& code);
void rotate_heads_reference(at::Tensor& rows, const RotaryHeads& heads, const RotaryCode& code);

}  // namespace skyfix::nn
