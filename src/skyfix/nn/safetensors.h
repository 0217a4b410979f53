// The safetensors format: an 8-byte length, a JSON object of names, types, shapes and offsets, then
// the data, little endian.
//
// Format: the README of safetensors (0.4 and later).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/tensor_table.h"

namespace skyfix {

// By its first bytes: a header length and an opening brace.
bool looks_like_safetensors(std::span<const std::byte> bytes);

// Nothing is copied: `bytes` must outlive the result. Throws Error(bad_weights) when the header is
// not such an object, a tensor's offsets and shape disagree, tensors overlap, leave holes or lie
// outside the file. `file` is named in errors.
TensorTable read_safetensors(std::span<const std::byte> bytes, const std::string& file,
                             const TensorFileLimits& limits);

}  // namespace skyfix
