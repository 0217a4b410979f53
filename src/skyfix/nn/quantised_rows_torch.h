// Rows of heads in 8 bits, for caches: value = stored * scale, with a scale in bfloat16 for each
// head of each row. int8 rounds to 1/127 of a head's largest entry; fp8 (e4m3) keeps small entries
// better and large ones worse.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace skyfix::nn {

enum class EightBits { int8, fp8 };

struct QuantisedRows {
  at::Tensor values;  // int8 or float8_e4m3 [rows, heads, size], dense
  at::Tensor scales;  // bfloat16 [rows, heads], dense
  std::uint64_t bytes() const { return values.nbytes() + scales.nbytes(); }
};
// Zeros. size: a multiple of 16, at most 128 (asserted).
QuantisedRows empty_quantised_rows(std::int64_t rows, std::int64_t heads, std::int64_t size,
                                   EightBits type, const at::Device& device);

// Writes `rows` [n, heads, size] into `to` from row `first` on; `first` is a number on the device
// (int64 [1]) that may change between replays of a recording. Twin: quantise_reference.
void quantise(const at::Tensor& rows, const at::Tensor& first, QuantisedRows& to);
void quantise_reference(const at::Tensor& rows, const at::Tensor& first, QuantisedRows& to);

// The first rows of `from`, as many as `to` [n, heads, size] has; or only the first `used` of these
// (int32 [1] on the device). Twin: dequantise_reference.
void dequantise(const QuantisedRows& from, at::Tensor& to, const at::Tensor& used = {});
void dequantise_reference(const QuantisedRows& from, at::Tensor& to, const at::Tensor& used = {});

}  // namespace skyfix::nn
