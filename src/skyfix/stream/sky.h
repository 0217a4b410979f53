// Which pixels are sky: masks made elsewhere, or a rule over confidence and depth
// (specification: gctstream.md section 12).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/stream/preprocess.h"

namespace skyfix {

struct SkyOptions {
  // Masks as the reference tool caches them: PNG, named after the source image or frame_NNNNNN.png,
  // of the network's size or the source's. Empty = none.
  std::filesystem::path mask_folder = {};
  // Without masks: pixels in the upper part of the picture whose depth is beyond
  // `far_factor` x the median and whose confidence is among the lowest are taken for sky.
  bool by_confidence = false;
  double far_factor = 5;
};

// 1 = sky, [network height, network width]; empty when neither masks nor the rule are asked for, or
// this frame has no mask (`note` then says so, once a run is enough). Throws Error(corrupt_image)
// naming a mask that cannot be used.
std::vector<std::uint8_t> sky_of(const SkyOptions& options, const std::string& frame_name,
                                 std::int64_t position, const GctFrameMap& map,
                                 const std::vector<float>& depth,
                                 const std::vector<float>& confidence, std::string* note);

}  // namespace skyfix
