// Attention over keys that lie in several places: each part's result with its log-sum-exp, and
// their exact merger (the rule of Milakov and Gimelshein 2018 for softmax in parts). Heads of a
// token lie side by side: rows are [tokens, heads, size].
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>

namespace skyfix::nn {

struct AttentionPart {
  at::Tensor out;      // [tokens, heads, size], in the type of q
  at::Tensor log_sum;  // fp32 [heads, tokens]: log of the sum of exp(scale q k); infinite = no keys
};

// Which of LibTorch's kernels computes a part on a GPU; the CPU has one. fixed: for a shape that
// comes again and again; cuDNN, which then is the faster one for many keys, and flash from the
// first time on that cuDNN could not do it on this machine.
enum class AttentionKernel { flash, cudnn, fixed };
std::string_view attention_kernel_name(AttentionKernel kernel);

// Over all of k and v [keys, heads, size]. cuDNN plans once for each shape; it wants fp16 or bf16,
// as flash does: fp32 on a GPU has a kernel of its own. Twin: attend_part_reference, explicit in
// fp32.
AttentionPart attend_part(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          double scale, AttentionKernel kernel);
AttentionPart attend_part_reference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    double scale);

// What flash wants to know of shapes on the device; made once, for recordings.
struct KeyBounds {
  KeyBounds() = default;
  KeyBounds(std::int64_t tokens, std::int64_t keys, const at::Device& device);
  at::Tensor tokens, keys;  // int32 [2]: 0 and the count
};

// Over the first `used` rows of k and v, a number that lies on the device (int32 [1]) and may
// change between replays of a recording. Flash on a GPU.
AttentionPart attend_used(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& used, const KeyBounds& bounds, double scale);

// As if the keys of both had been one set: [tokens, heads, size], dense. Twin:
// merge_parts_reference.
at::Tensor merge_parts(const AttentionPart& a, const AttentionPart& b);
at::Tensor merge_parts_reference(const AttentionPart& a, const AttentionPart& b);

}  // namespace skyfix::nn
