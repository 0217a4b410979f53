#include "skyfix/nn/attention_parts_torch.h"

#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>

#include <c10/util/Exception.h>

#include <atomic>
#include <cassert>
#include <limits>

#include "skyfix/nn/cuda_attention.h"
#include "skyfix/nn/element_torch.h"

namespace skyfix::nn {
namespace {

// [tokens, heads, size] as the batched operators want it, without a copy.
at::Tensor by_heads(const at::Tensor& rows) { return rows.transpose(0, 1).unsqueeze(0); }

AttentionPart without_keys(const at::Tensor& q) {
  return {at::zeros_like(q),
          at::full({q.size(1), q.size(0)}, -std::numeric_limits<float>::infinity(),
                   q.options().dtype(at::kFloat))};
}

AttentionPart by_rows(const at::Tensor& out, const at::Tensor& log_sum, const at::Tensor& q) {
  return {out.squeeze(0).transpose(0, 1),
          log_sum.reshape({q.size(1), -1}).narrow(1, 0, q.size(0)).to(at::kFloat)};
}

AttentionPart attend_on_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale) {
  const auto [out, log_sum] = at::_scaled_dot_product_flash_attention_for_cpu(
      by_heads(q), by_heads(k), by_heads(v), 0.0, false, std::nullopt, scale);
  return by_rows(out, log_sum, q);
}

// The fp32 way of a GPU; its sums are padded to whole blocks of queries.
AttentionPart attend_efficiently(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 double scale) {
  const auto found = at::_scaled_dot_product_efficient_attention(
      by_heads(q), by_heads(k), by_heads(v), std::nullopt, true, 0.0, false, scale);
  return by_rows(std::get<0>(found), std::get<1>(found), q);
}

// The fused kernels of a GPU know half precision only.
AttentionPart attend_without_half(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  double scale) {
  if (k.size(0) == 0) return without_keys(q);
  return q.is_cuda() ? attend_efficiently(q, k, v, scale) : attend_on_cpu(q, k, v, scale);
}

}  // namespace

AttentionPart attend_part_reference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    double scale) {
  if (k.size(0) == 0) return without_keys(q);
  const auto heads = [](const at::Tensor& rows) { return rows.transpose(0, 1).to(at::kFloat); };
  const at::Tensor scores = at::matmul(heads(q), heads(k).transpose(1, 2)) * scale;
  const at::Tensor out = at::matmul(at::softmax(scores, -1), heads(v));
  return {out.transpose(0, 1).contiguous().to(q.scalar_type()), at::logsumexp(scores, -1)};
}

namespace {

AttentionPart attend_flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           double scale) {
  const auto found = at::_scaled_dot_product_flash_attention(by_heads(q), by_heads(k), by_heads(v),
                                                             0.0, false, false, scale);
  return by_rows(std::get<0>(found), std::get<1>(found), q);
}

AttentionPart attend_cudnn(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           double scale) {
  const auto found = at::_scaled_dot_product_cudnn_attention(
      by_heads(q), by_heads(k), by_heads(v), std::nullopt, true, 0.0, false, false, scale);
  return by_rows(std::get<0>(found), std::get<1>(found), q);
}

// False from the first refusal on, so that a run does not change its kernel back and forth.
std::atomic<bool> cudnn_works{true};

AttentionPart attend_fixed(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           double scale) {
  if (cudnn_works) {
    try {
      return attend_cudnn(q, k, v, scale);
    } catch (const c10::OutOfMemoryError&) {
      throw;
    } catch (const c10::Error&) {
      cudnn_works = false;
    }
  }
  return attend_flash(q, k, v, scale);
}

}  // namespace

std::string_view attention_kernel_name(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::flash:
      return "flash";
    case AttentionKernel::cudnn:
      return "cudnn";
    case AttentionKernel::fixed:
      return "fixed";
  }
  return "";
}

AttentionPart attend_part(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          double scale, AttentionKernel kernel) {
  if (!q.is_cuda() || q.scalar_type() == at::kFloat) return attend_without_half(q, k, v, scale);
  if (kernel == AttentionKernel::cudnn) return attend_cudnn(q, k, v, scale);
  if (kernel == AttentionKernel::fixed) return attend_fixed(q, k, v, scale);
  return attend_flash(q, k, v, scale);
}

KeyBounds::KeyBounds(std::int64_t token_count, std::int64_t key_count, const at::Device& device) {
  const at::Tensor unit = at::arange(0, 2, at::TensorOptions().device(device).dtype(at::kInt));
  tokens = unit * token_count;
  keys = unit * key_count;
}

AttentionPart attend_used(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& used, const KeyBounds& bounds, double scale) {
  if (!q.is_cuda() || q.scalar_type() == at::kFloat) {
    const std::int64_t count = used.item<std::int32_t>();
    return attend_without_half(q, k.narrow(0, 0, count), v.narrow(0, 0, count), scale);
  }
  const auto found =
      at::_flash_attention_forward(q, k, v, bounds.tokens, bounds.keys, q.size(0), k.size(0), 0.0,
                                   false, false, scale, std::nullopt, std::nullopt, used);
  return {std::get<0>(found), std::get<1>(found).reshape({q.size(1), q.size(0)})};
}

at::Tensor merge_parts_reference(const AttentionPart& a, const AttentionPart& b) {
  const float none = -std::numeric_limits<float>::infinity();
  const at::Tensor sum_a = at::where(a.log_sum.isinf(), none, a.log_sum);
  const at::Tensor sum_b = at::where(b.log_sum.isinf(), none, b.log_sum);
  const at::Tensor top = at::maximum(sum_a, sum_b).nan_to_num(0, 0, 0);
  const at::Tensor x = (sum_a - top).exp(), y = (sum_b - top).exp();
  const auto weight = [&](const at::Tensor& part) {
    return (part / (x + y)).nan_to_num(0).transpose(0, 1).unsqueeze(-1);
  };
  const auto weighed = [&](const AttentionPart& part, const at::Tensor& by) {
    return at::where(by == 0, at::zeros_like(by), part.out.to(at::kFloat) * by);
  };
  return (weighed(a, weight(x)) + weighed(b, weight(y))).to(a.out.scalar_type()).contiguous();
}

at::Tensor merge_parts(const AttentionPart& a, const AttentionPart& b) {
  const CudaAttentionEntry* cuda = a.out.is_cuda() ? cuda_attention() : nullptr;
  const auto side_by_side = [](const at::Tensor& rows) {
    return rows.stride(2) == 1 && rows.stride(1) == rows.size(2);
  };
  if (cuda == nullptr || a.out.size(2) % 8 != 0) return merge_parts_reference(a, b);
  AttentionPart first = a, second = b;
  for (AttentionPart* part : {&first, &second}) {
    if (!side_by_side(part->out)) part->out = part->out.contiguous();
    part->log_sum = part->log_sum.contiguous();
  }
  at::Tensor out = at::empty(a.out.sizes(), a.out.options());
  MergeWork work;
  work.a = first.out.const_data_ptr();
  work.b = second.out.const_data_ptr();
  work.a_stride = first.out.stride(0);
  work.b_stride = second.out.stride(0);
  work.a_log_sum = first.log_sum.const_data_ptr<float>();
  work.b_log_sum = second.log_sum.const_data_ptr<float>();
  work.out = out.data_ptr();
  work.tokens = out.size(0);
  work.heads = static_cast<int>(out.size(1));
  work.size = static_cast<int>(out.size(2));
  work.element = element_number(out.scalar_type());
  cuda->merge(work);
  return out;
}

}  // namespace skyfix::nn
