// What attention over a long cache needs of CUDA beyond LibTorch's operators, from
// libskyfix_cuda.so. Knows neither LibTorch nor CUDA; attention_parts_torch.h and
// quantised_rows_torch.h are what networks use.
#pragma once

#include <cstdint>

namespace skyfix::nn {

// Element types by number: 0 float32, 1 float16, 2 bfloat16.
struct MergeWork {
  // Two partial results, [tokens, heads, size] each with its own stride between tokens; the heads
  // of a token lie side by side.
  const void* a = nullptr;
  const void* b = nullptr;
  std::int64_t a_stride = 0, b_stride = 0;  // elements
  // [heads, tokens] each. An infinite one marks a part without keys.
  const float* a_log_sum = nullptr;
  const float* b_log_sum = nullptr;
  void* out = nullptr;  // [tokens, heads, size], dense
  std::int64_t tokens = 0;
  int heads = 0;
  int size = 0;  // of a head; a multiple of 8
  int element = 0;
};

// Rows of heads in 8 bits: value = stored * scale, a scale for each head of each row.
struct QuantiseWork {
  const void* rows = nullptr;  // [tokens, heads, size] with a stride between tokens
  std::int64_t row_stride = 0;
  void* values = nullptr;  // 8 bits, [tokens, heads, size], dense
  void* scales = nullptr;  // bfloat16, [tokens, heads], dense
  std::int64_t tokens = 0;
  int heads = 0;
  int size = 0;  // a multiple of 16, at most 128
  int element = 0;
  bool fp8 = false;  // e4m3 instead of int8
  // Where to begin in `values` and `scales`, in rows, read on the device; null = 0.
  const std::int64_t* first_row = nullptr;
};
struct DequantiseWork {
  const void* values = nullptr;
  const void* scales = nullptr;
  void* rows = nullptr;  // [tokens, heads, size], dense
  std::int64_t tokens = 0;
  int heads = 0;
  int size = 0;
  int element = 0;
  bool fp8 = false;
  // Rows in use, read on the device; the rest is not touched. Null = all.
  const std::int32_t* used = nullptr;
};

// What libskyfix_cuda.so exports as skyfix_cuda_attention(). All on the current stream; they throw
// DeviceFailure.
struct CudaAttentionEntry {
  void (*merge)(const MergeWork& work);
  void (*quantise)(const QuantiseWork& work);
  void (*dequantise)(const DequantiseWork& work);
};

// Null where there is no CUDA part.
const CudaAttentionEntry* cuda_attention();

}  // namespace skyfix::nn
