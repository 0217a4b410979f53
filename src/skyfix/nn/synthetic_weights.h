// Deterministic weights by name and shape, so that full-size networks run and are tested without a
// checkpoint (`--weights synthetic`). Values are random: a network filled with them finds nothing,
// but it computes, and the same everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "skyfix/nn/tensor_source.h"

namespace skyfix {

// False when the rules leave the tensor as the architecture defines it ("periods", "bias_mask",
// "num_batches_tracked"); else fills `out` (row-major, product of `shape` elements) on all threads.
bool fill_synthetic(std::string_view name, std::span<const std::int64_t> shape,
                    std::span<float> out);

// FNV-1a 64 of the name: the generator's key.
std::uint64_t synthetic_key(std::string_view name);

// A source whose tensors are all synthetic: find() gives null, synthetic() is true, and
// WeightReader fills what is asked for.
std::shared_ptr<const TensorSource> make_synthetic_source();

}  // namespace skyfix
