// The memory model of MASt3R as a matcher: one query against reference frames whose encoder
// features are kept. Parameter counts and feature sizes are exact, activations estimates.
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/memory/footprint.h"

namespace skyfix {

// What the network sees, px; multiples of 16.
struct Mast3rInput {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t tokens() const { return (width / 16) * (height / 16); }
  std::int64_t pixels() const { return width * height; }
};
// The long side is scaled to `long_side` (half to even), then the middle cut to multiples of 16.
// Throws Error(bad_option) when no row would be left.
Mast3rInput mast3r_input(std::int64_t width, std::int64_t height, std::int64_t long_side);

struct Mast3rParameters {
  std::int64_t encoder = 0;           // patches, 24 blocks, norm
  std::int64_t decoder = 0;           // projection, two decoders, norm, mask token
  std::int64_t dense_heads = 0;       // both; points and their confidence
  std::int64_t descriptor_heads = 0;  // both
  std::int64_t total() const { return encoder + decoder + dense_heads + descriptor_heads; }
};
Mast3rParameters mast3r_parameters();

struct Mast3rSettings {
  DataType weights = DataType::bf16;  // of encoder and decoders, as held
  DataType compute = DataType::bf16;  // of their arithmetic
  DataType heads = DataType::fp32;
  std::int64_t pairs_at_once = 5;  // references decoded together
  bool points = false;             // with the dense heads; matching needs descriptors only
  bool stream_weights = false;     // from the host: two blocks on the device at a time
};

// The encoder feature of one frame.
std::uint64_t mast3r_feature_bytes(const Mast3rInput& input, DataType type);

// "mast3r" (encoder and decoders), "mast3r heads" and their activations. Descriptors and cached
// features belong to the matcher.
std::vector<ComponentNeed> mast3r_needs(const Mast3rInput& input, const Mast3rSettings& settings);

}  // namespace skyfix
