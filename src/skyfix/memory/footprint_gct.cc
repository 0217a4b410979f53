#include "skyfix/memory/footprint_gct.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_transformer.h"

namespace skyfix {
namespace {

constexpr std::int64_t kPatch = 14;
constexpr std::int64_t kWidth = 1024;
constexpr std::int64_t kGlobalBlocks = 24;
constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kSpecialTokens = 6;
constexpr std::int64_t kTaps = 4;
constexpr std::int64_t kTrainedViews = 320;
constexpr std::int64_t kCameraCaches = 16;  // 4 iterations x 4 blocks
constexpr std::int64_t kCameraWidth = 2048;
// The dense heads end in 32 channels at the image's size.
constexpr DenseHeadShape kDenseHead = {.patch = kPatch, .final = 32};

BlockShape trunk_block() {
  return {.width = kWidth, .hidden = 4 * kWidth, .layer_scale = true, .head_norms = true};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t scale_frames(const GctSettings& settings) {
  return std::min(settings.num_scale_frames, settings.frames);
}

// Trunk weights on the device under an offload: the running block and the next one on its way.
std::int64_t resident_trunk_values(const GctSettings& settings) {
  const std::int64_t trunk = gct_parameters().trunk();
  return settings.offload == Offload::none ? trunk : 2 * block_parameters(trunk_block());
}

ComponentNeed trunk_need(const GctSettings& settings) {
  const std::int64_t held = resident_trunk_values(settings);
  ComponentNeed need{.owner = "gct trunk"};
  need.weights_bytes = held * data_type_bytes(settings.weights);
  if (settings.weights != settings.compute) {
    need.weights_bytes += held * data_type_bytes(settings.compute);
  }
  if (settings.offload != Offload::none) {
    need.host_bytes = gct_parameters().trunk() * data_type_bytes(settings.weights);
  }
  return need;
}

ComponentNeed head_need(std::string owner, std::int64_t parameters, const GctSettings& settings) {
  ComponentNeed need{.owner = std::move(owner)};
  need.weights_bytes = parameters * data_type_bytes(settings.heads);
  return need;
}

// Keys and values of one global block in the arithmetic's type: what attention reads when the cache
// is of another type or on the host.
std::uint64_t one_block_kv_bytes(std::int64_t tokens, DataType type) {
  return tokens * 2 * kWidth * data_type_bytes(type);
}

ComponentNeed cache_need(const GctInput& input, const GctSettings& settings) {
  ComponentNeed need{.owner = "kv cache"};
  const std::uint64_t frame = gct_kv_bytes(input.tokens_per_frame(), settings.kv);
  const auto frames = static_cast<std::uint64_t>(gct_cached_frames(settings));
  if (settings.offload == Offload::all) {
    need.host_bytes = frame * frames;
    need.workspace_bytes = 2 * (frame * frames / kGlobalBlocks);  // this block's and the next one's
    return need;
  }
  need.growth_bytes = frame;
  need.growth_count = frames;
  need.growth_unit = "window frame";
  return need;
}

// A block's cache widened for attention (an 8-bit cache), and a non-keyframe's own tokens, which
// attend but are not stored.
ComponentNeed scratch_need(const GctInput& input, const GctSettings& settings) {
  const std::int64_t tokens = gct_cached_frames(settings) * input.tokens_per_frame();
  ComponentNeed need{.owner = "kv scratch"};
  if (settings.kv != settings.compute) {
    need.workspace_bytes = one_block_kv_bytes(tokens, settings.compute);
  }
  if (gct_keyframe_interval(settings) > 1) {
    need.workspace_bytes += one_block_kv_bytes(input.tokens_per_frame(), settings.compute);
  }
  return need;
}

// Special tokens are few: they stay in the arithmetic's type, whatever the cache's is.
ComponentNeed tail_need(const GctSettings& settings) {
  ComponentNeed need{.owner = "special tokens"};
  need.growth_bytes = gct_kv_bytes(kSpecialTokens, settings.compute);
  need.growth_count = gct_tail_frames(settings);
  need.growth_unit = "evicted frame";
  return need;
}

// A token a frame in each of the 16 caches: 262,144 bytes in float32.
ComponentNeed camera_cache_need(const GctSettings& settings) {
  ComponentNeed need{.owner = "camera cache"};
  need.growth_bytes = kCameraCaches * 2 * kCameraWidth * data_type_bytes(settings.heads);
  need.growth_count = gct_cached_frames(settings) + gct_tail_frames(settings);
  need.growth_unit = "kept frame";
  return need;
}

// The highest of trunk and heads, which follow each other, and the taps (4 x 2,048 values a token)
// that pass from one to the other. The scale frames are one call: it decides.
ComponentNeed activation_need(const GctInput& input, const GctSettings& settings) {
  const std::int64_t frames = scale_frames(settings);
  const std::int64_t tokens = frames * input.tokens_per_frame();
  const std::uint64_t taps = tokens * kTaps * 2 * kWidth * data_type_bytes(settings.heads);
  // The picture as it came in float32 and normalised, cut into patches.
  const std::uint64_t pictures =
      frames * 3 * input.pixels() * (4 + data_type_bytes(settings.compute));
  const std::uint64_t block = block_activation_bytes(trunk_block(), tokens, settings.compute);
  const std::uint64_t head =
      std::min(frames, settings.head_frames_at_once) *
      dense_head_activation_bytes(kDenseHead, input.patches(), settings.heads);
  ComponentNeed need{.owner = "activations"};
  need.workspace_bytes = pictures + taps + std::max(block, head);
  return need;
}

// Depth and confidence in float32 (and point and confidence): those being made and those on their
// way to the host.
ComponentNeed output_need(const GctInput& input, const GctSettings& settings) {
  const std::int64_t channels = settings.point_head ? 6 : 2;
  ComponentNeed need{.owner = "outputs"};
  need.workspace_bytes = (scale_frames(settings) + 1) * input.pixels() * channels * 4;
  return need;
}

}  // namespace

std::string_view offload_name(Offload offload) {
  switch (offload) {
    case Offload::none:
      return "none";
    case Offload::weights:
      return "weights";
    case Offload::all:
      return "all";
  }
  return "";
}

Offload offload_from_name(std::string_view name, std::string_view option) {
  for (const Offload offload : {Offload::none, Offload::weights, Offload::all}) {
    if (name == offload_name(offload)) return offload;
  }
  throw Error(Reason::bad_option,
              fmt::format("{}: '{}' is none of none, weights, all", option, name));
}

GctInput gct_input(std::int64_t width, std::int64_t height, std::int64_t image_size) {
  if (image_size < kPatch || image_size % kPatch != 0) {
    throw Error(Reason::bad_option,
                fmt::format("--image-size {}: it must be a positive multiple of 14, such as 518",
                            image_size));
  }
  // nearbyint rounds half to even, as the reference does.
  const double scale = static_cast<double>(image_size) / static_cast<double>(width);
  const double rows = std::nearbyint(static_cast<double>(height) * scale / kPatch);
  const std::int64_t most = image_size / kPatch;
  const auto patch_rows = static_cast<std::int64_t>(std::min(rows, static_cast<double>(most)));
  if (patch_rows == 0) {
    throw Error(Reason::bad_option,
                fmt::format("a picture of {} x {} has no row left at --image-size {}: it is too "
                            "wide for its height. Crop it.",
                            width, height, image_size));
  }
  return {.width = image_size, .height = patch_rows * kPatch};
}

std::uint64_t gct_kv_bytes(std::int64_t tokens, DataType type) {
  const std::int64_t values = 2 * kGlobalBlocks * kWidth * data_type_bytes(type);
  const std::int64_t scales = type == DataType::int8 ? 2 * kGlobalBlocks * kHeads * 2 : 0;
  return tokens * (values + scales);
}

std::int64_t gct_keyframe_interval(const GctSettings& settings) {
  if (settings.keyframe_interval > 0) return settings.keyframe_interval;
  return std::max<std::int64_t>(1, ceil_div(settings.frames, kTrainedViews));
}

std::int64_t gct_kept_frames(const GctSettings& settings) {
  const std::int64_t first = scale_frames(settings);
  return first + ceil_div(settings.frames - first, gct_keyframe_interval(settings));
}

std::int64_t gct_cached_frames(const GctSettings& settings) {
  return std::min(gct_kept_frames(settings), settings.num_scale_frames + settings.window);
}

std::int64_t gct_tail_frames(const GctSettings& settings) {
  const std::int64_t evicted = gct_kept_frames(settings) - gct_cached_frames(settings);
  return settings.tail_frames < 0 ? evicted : std::min(evicted, settings.tail_frames);
}

std::vector<ComponentNeed> gct_needs(const GctInput& input, const GctSettings& settings) {
  const GctParameters parameters = gct_parameters();
  std::vector<ComponentNeed> needs = {trunk_need(settings),
                                      head_need("camera head", parameters.camera_head, settings),
                                      head_need("depth head", parameters.depth_head, settings)};
  if (settings.point_head) {
    needs.push_back(head_need("point head", parameters.point_head, settings));
  }
  for (const ComponentNeed& need :
       {cache_need(input, settings), scratch_need(input, settings), tail_need(settings),
        camera_cache_need(settings), activation_need(input, settings),
        output_need(input, settings)}) {
    if (need.device_bytes() + need.host_bytes > 0) needs.push_back(need);
  }
  return needs;
}

std::uint64_t gct_streamed_bytes(const GctInput& input, const GctSettings& settings) {
  std::uint64_t bytes = 0;
  if (settings.offload != Offload::none) bytes += trunk_need(settings).host_bytes;
  if (settings.offload == Offload::all) bytes += cache_need(input, settings).host_bytes;
  return bytes;
}

}  // namespace skyfix
