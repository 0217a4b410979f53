// A frame's depth on disk, at the network's size: 16-bit PNG or float32 .npy. Depth is along the
// camera's z, in the stream's unit (arbitrary); 0 = none.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace skyfix {

enum class DepthFormat { none, png, npy };
std::string_view depth_format_name(DepthFormat format);
DepthFormat depth_format_from_name(std::string_view name);  // throws Error(bad_option)

// depth/NAME.EXT relative to the run folder: NAME is the frame's with its folders, made safe as in
// frame_path.h, an image's suffix replaced ("a.jpg" gives "depth/a.png") unless `keep_suffix`.
std::filesystem::path depth_path(std::string_view frame_name, DepthFormat format, bool keep_suffix);

struct EncodedDepth {
  std::string bytes;
  double units_per_step = 1;  // depth = sample * this
};
// PNG: grey, 16 bit, samples 1..65535 over (0, largest depth]; the text chunk
// "skyfix_units_per_step" holds the step. What is not finite or not above 0 is 0.
// `depth` is [height, width], both at least 1 (asserted).
EncodedDepth encode_depth(std::span<const float> depth, int width, int height, DepthFormat format);

}  // namespace skyfix
