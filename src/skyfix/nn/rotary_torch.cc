#include "skyfix/nn/rotary_torch.h"

#include <array>
#include <cassert>

#include "skyfix/nn/cuda_nn.h"
#include "skyfix/nn/element_torch.h"
#include "skyfix/nn/layers_torch.h"

namespace skyfix::nn {
at::Tensor angles_by_halves(const at::Tensor& positions, std::int64_t size, double base) {
  const at::Tensor exponents = at::arange(0, size, 2, positions.options()) / double(size);
  const at::Tensor angles = positions.unsqueeze(1) * at::pow(base, exponents).reciprocal();
  return at::cat({angles, angles}, 1);
}

void rotate_heads_reference(at::Tensor& rows, const RotaryHeads& heads, const RotaryCode& code) {
  const std::int64_t part = heads.size / heads.parts;
  const at::Tensor turned =
      rows.narrow(-1, 0, heads.heads * heads.size).unflatten(-1, {heads.heads, heads.parts, part});
  const std::array<std::int64_t, 4> table{code.sin.size(0), 1, heads.parts, part};
  const auto rotate = heads.neighbours ? rotate_neighbours : rotate_halves;
  turned.copy_(rotate(turned, code.sin.view(table), code.cos.view(table)));
}

void rotate_heads(at::Tensor& rows, const RotaryHeads& heads, const RotaryCode& code) {
  assert(rows.is_contiguous() && rows.size(1) == code.sin.size(0));
  const CudaNnEntry* cuda = rows.is_cuda() ? cuda_nn() : nullptr;
  if (cuda == nullptr) return rotate_heads_reference(rows, heads, code);
  RotaryWork work;
  work.rows = rows.data_ptr();
  work.sin = code.sin.const_data_ptr<float>();
  work.cos = code.cos.const_data_ptr<float>();
  work.tokens = rows.size(0) * rows.size(1);
  work.period = rows.size(1);
  work.row_stride = rows.size(2);
  work.heads = static_cast<int>(heads.heads);
  work.head_size = static_cast<int>(heads.size);
  work.parts = static_cast<int>(heads.parts);
  work.neighbours = heads.neighbours;
  work.element = element_number(rows.scalar_type());
  cuda->rotate(work);
}

}  // namespace skyfix::nn
