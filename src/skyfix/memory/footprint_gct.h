// The memory model of the streaming geometry transformer (GCT: LingBot-Map's architecture, official
// sizes), for one stream. Parameter counts and cache sizes are exact; activations are estimates.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "skyfix/memory/footprint.h"

namespace skyfix {

// Where the trunk's weights and the KV cache live when they are not on the device for the whole
// run.
enum class Offload { none, weights, all };
std::string_view offload_name(Offload offload);
// Throws Error(bad_option) naming `option` for any other name.
Offload offload_from_name(std::string_view name, std::string_view option);

// What the network sees of a picture, px; multiples of 14.
struct GctInput {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t patches() const { return (width / 14) * (height / 14); }
  std::int64_t pixels() const { return width * height; }
  // Six special tokens (camera, four registers, scale) and one for each patch.
  std::int64_t tokens_per_frame() const { return 6 + patches(); }
};
// Resized to `image_size` wide, the height rounded (half to even) to a multiple of 14 and cropped
// to `image_size`: a portrait picture keeps its central square. Throws Error(bad_option) when
// image_size is no positive multiple of 14, or so wide a picture would have no row left.
GctInput gct_input(std::int64_t width, std::int64_t height, std::int64_t image_size);

// Parameters by part. The point head is not in `total`.
struct GctParameters {
  std::int64_t encoder = 0;
  std::int64_t frame_blocks = 0;
  std::int64_t global_blocks = 0;
  std::int64_t special_tokens = 0;
  std::int64_t camera_head = 0;
  std::int64_t depth_head = 0;
  std::int64_t point_head = 0;
  std::int64_t trunk() const { return encoder + frame_blocks + global_blocks + special_tokens; }
  std::int64_t total() const { return trunk() + camera_head + depth_head; }
};
GctParameters gct_parameters();

// Keys and values that 24 global blocks keep of `tokens` tokens, 1,024 of each a token and block.
// int8 adds a bf16 scale for each of 16 heads and token.
std::uint64_t gct_kv_bytes(std::int64_t tokens, DataType type);

struct GctSettings {
  std::int64_t frames = 1;
  std::int64_t window = 64;
  std::int64_t num_scale_frames = 8;
  std::int64_t keyframe_interval = 1;  // 0 = auto: 1 up to 320 frames, then ceil(frames / 320)
  std::int64_t tail_frames = 256;      // evicted frames whose special tokens are kept; -1 = all
  DataType weights = DataType::bf16;   // of the trunk, as held
  DataType compute = DataType::bf16;   // of the trunk's arithmetic
  DataType heads = DataType::fp32;     // weights and arithmetic of camera, depth and point head
  DataType kv = DataType::bf16;
  bool point_head = false;
  std::int64_t head_frames_at_once = 1;
  Offload offload = Offload::none;
};

std::int64_t gct_keyframe_interval(const GctSettings& settings);
// Frames that enter the cache in the whole run; held whole in it at the end; of those gone, still
// there with their special tokens.
std::int64_t gct_kept_frames(const GctSettings& settings);
std::int64_t gct_cached_frames(const GctSettings& settings);
std::int64_t gct_tail_frames(const GctSettings& settings);

// The needs of one stream by owner; device and host. Weights held in another type than the
// arithmetic's are there twice (the copies that autocast makes).
std::vector<ComponentNeed> gct_needs(const GctInput& input, const GctSettings& settings);

// Bytes copied from the host for each frame under an offload.
std::uint64_t gct_streamed_bytes(const GctInput& input, const GctSettings& settings);

}  // namespace skyfix
