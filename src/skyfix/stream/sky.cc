#include "skyfix/stream/sky.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;

std::optional<fs::path> mask_file(const SkyOptions& options, const std::string& frame_name,
                                  std::int64_t position) {
  const fs::path name(frame_name);
  for (const fs::path& candidate : {fs::path(name).replace_extension(".png"),
                                    fs::path(name.filename()).replace_extension(".png"),
                                    fs::path(fmt::format("frame_{:06d}.png", position))}) {
    const fs::path file = options.mask_folder / candidate;
    if (fs::is_regular_file(file)) return file;
  }
  return std::nullopt;
}

// Masks are white on what is no sky: above 0.1 of full scale is kept.
constexpr int kKeptAbove = 25;

// The source's mask where the network looks: nearest pixel.
std::vector<std::uint8_t> sampled(const Image& mask, const GctFrameMap& map) {
  std::vector<std::uint8_t> sky(std::size_t(map.network_width) * map.network_height, 0);
  for (int y = 0; y < map.network_height; ++y) {
    for (int x = 0; x < map.network_width; ++x) {
      const int u = static_cast<int>((x + 0.5 + map.offset_x) / map.scale_x),
                v = static_cast<int>((y + 0.5 + map.offset_y) / map.scale_y);
      if (u < 0 || v < 0 || u >= mask.width || v >= mask.height) continue;
      sky[std::size_t(y) * map.network_width + x] = mask.row(v)[u] <= kKeptAbove;
    }
  }
  return sky;
}

std::vector<std::uint8_t> from_mask(const fs::path& file, const GctFrameMap& map) {
  const Image mask = decode_image(file);
  if (mask.width == map.network_width && mask.height == map.network_height) {
    std::vector<std::uint8_t> sky(mask.pixels.size());
    std::transform(mask.pixels.begin(), mask.pixels.end(), sky.begin(),
                   [](std::uint8_t value) { return value <= kKeptAbove; });
    return sky;
  }
  if (mask.width == map.source_width && mask.height == map.source_height) return sampled(mask, map);
  throw Error(Reason::corrupt_image,
              fmt::format("the sky mask has {} x {} px; it must have the frame's {} x {} or the "
                          "network's {} x {}",
                          mask.width, mask.height, map.source_width, map.source_height,
                          map.network_width, map.network_height),
              file);
}

float median_of(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Far beyond the scene, less sure than half of the picture, and in its upper half.
std::vector<std::uint8_t> by_rule(const SkyOptions& options, const GctFrameMap& map,
                                  const std::vector<float>& depth,
                                  const std::vector<float>& confidence) {
  const float far = static_cast<float>(options.far_factor) * median_of(depth);
  const float sure = median_of(confidence);
  std::vector<std::uint8_t> sky(depth.size(), 0);
  const std::size_t upper = std::size_t(map.network_height / 2) * map.network_width;
  for (std::size_t i = 0; i < std::min(upper, sky.size()); ++i) {
    sky[i] = depth[i] > far && confidence[i] <= sure;
  }
  return sky;
}

}  // namespace

std::vector<std::uint8_t> sky_of(const SkyOptions& options, const std::string& frame_name,
                                 std::int64_t position, const GctFrameMap& map,
                                 const std::vector<float>& depth,
                                 const std::vector<float>& confidence, std::string* note) {
  if (!options.mask_folder.empty()) {
    if (const auto file = mask_file(options, frame_name, position)) return from_mask(*file, map);
    if (note != nullptr) *note = "there is no sky mask for " + frame_name + ": nothing is left out";
    return {};
  }
  if (options.by_confidence) return by_rule(options, map, depth, confidence);
  return {};
}

}  // namespace skyfix
