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
  std::int64_t parts = 1;  // of a head, each with a code of its own
  // Which entries of a part are a pair: (j, j + half) or, true, (2 j, 2 j + 1).
  bool neighbours = false;
};

// Angles fp32 [n, size] of fp32 positions [n] by halves: position * base^(-2 j / size), the same
// for both entries of a pair.
at::Tensor angles_by_halves(const at::Tensor& positions, std::int64_t size, double base);

// Turns the heads at the beginning of every row of `rows` [B, tokens, row] (dense) in place, as
// rotate_halves and rotate_neighbours do: one kernel on a GPU. Twin, to the bit:
// rotate_heads_reference.
void rotate_heads(at::Tensor& rows, const RotaryHeads& heads, const RotaryCode& code);
void rotate_heads_reference(at::Tensor& rows, const RotaryHeads& heads, const RotaryCode& code);

}  // namespace skyfix::nn
