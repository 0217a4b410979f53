#include "skyfix/nn/quantised_rows_torch.h"

#include <cassert>

#include "skyfix/nn/cuda_attention.h"
#include "skyfix/nn/element_torch.h"

namespace skyfix::nn {
namespace {

constexpr float kMostInt8 = 127, kMostFp8 = 448;

bool is_fp8(const QuantisedRows& rows) {
  return rows.values.scalar_type() == at::ScalarType::Float8_e4m3fn;
}

// To bfloat16, never downwards: then the largest entry stays within range.
at::Tensor rounded_up(const at::Tensor& value) {
  const at::Tensor bits = value.view(at::kInt);
  // bfloat16 is the upper half of fp32; values are not negative.
  return ((bits + 0xffff).bitwise_and(~0xffff)).view(at::kFloat).to(at::kBFloat16);
}

}  // namespace

QuantisedRows empty_quantised_rows(std::int64_t rows, std::int64_t heads, std::int64_t size,
                                   EightBits type, const at::Device& device) {
  assert(size % 16 == 0 && size <= 128);
  const at::TensorOptions on = at::TensorOptions().device(device);
  const auto stored = type == EightBits::int8 ? at::kChar : at::ScalarType::Float8_e4m3fn;
  return {at::zeros({rows, heads, size}, on.dtype(stored)),
          at::zeros({rows, heads}, on.dtype(at::kBFloat16))};
}

void quantise_reference(const at::Tensor& rows, const at::Tensor& first, QuantisedRows& to) {
  const bool fp8 = is_fp8(to);
  const at::Tensor wide = rows.to(at::kFloat);
  const at::Tensor scales = rounded_up((wide.abs().amax(-1) / (fp8 ? kMostFp8 : kMostInt8)));
  const at::Tensor by = scales.to(at::kFloat).reciprocal().unsqueeze(-1);
  const at::Tensor scaled = at::where(by.isinf(), at::zeros_like(by), wide * by);
  const at::Tensor stored =
      fp8 ? scaled.clamp(-kMostFp8, kMostFp8) : scaled.clamp(-kMostInt8, kMostInt8).round();
  const std::int64_t begin = first.item<std::int64_t>();
  to.values.narrow(0, begin, rows.size(0)).copy_(stored.to(to.values.scalar_type()));
  to.scales.narrow(0, begin, rows.size(0)).copy_(scales);
}

void quantise(const at::Tensor& rows, const at::Tensor& first, QuantisedRows& to) {
  const CudaAttentionEntry* cuda = rows.is_cuda() ? cuda_attention() : nullptr;
  if (cuda == nullptr) return quantise_reference(rows, first, to);
  assert(rows.stride(2) == 1 && rows.stride(1) == rows.size(2));
  QuantiseWork work;
  work.rows = rows.const_data_ptr();
  work.row_stride = rows.stride(0);
  work.values = to.values.data_ptr();
  work.scales = to.scales.data_ptr();
  work.tokens = rows.size(0);
  work.heads = static_cast<int>(rows.size(1));
  work.size = static_cast<int>(rows.size(2));
  work.element = element_number(rows.scalar_type());
  work.fp8 = is_fp8(to);
  work.first_row = first.const_data_ptr<std::int64_t>();
  cuda->quantise(work);
}

void dequantise_reference(const QuantisedRows& from, at::Tensor& to, const at::Tensor& used) {
  const std::int64_t count = used.defined() ? used.item<std::int32_t>() : to.size(0);
  const at::Tensor values = from.values.narrow(0, 0, count).to(at::kFloat);
  const at::Tensor scales = from.scales.narrow(0, 0, count).to(at::kFloat).unsqueeze(-1);
  to.narrow(0, 0, count).copy_((values * scales).to(to.scalar_type()));
}

void dequantise(const QuantisedRows& from, at::Tensor& to, const at::Tensor& used) {
  const CudaAttentionEntry* cuda = to.is_cuda() ? cuda_attention() : nullptr;
  if (cuda == nullptr) return dequantise_reference(from, to, used);
  assert(to.is_contiguous() && to.size(0) <= from.values.size(0));
  DequantiseWork work;
  work.values = from.values.const_data_ptr();
  work.scales = from.scales.const_data_ptr();
  work.rows = to.data_ptr();
  work.tokens = to.size(0);
  work.heads = static_cast<int>(to.size(1));
  work.size = static_cast<int>(to.size(2));
  work.element = element_number(to.scalar_type());
  work.fp8 = is_fp8(from);
  if (used.defined()) work.used = used.const_data_ptr<std::int32_t>();
  cuda->dequantise(work);
}

}  // namespace skyfix::nn
