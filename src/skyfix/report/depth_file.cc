#include "skyfix/report/depth_file.h"

#include <spdlog/fmt/fmt.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/base/npy.h"
#include "skyfix/image/image.h"
#include "skyfix/report/frame_path.h"

namespace skyfix {
namespace {

constexpr double kMostSteps = 65535;

void append_u32(std::uint32_t value, std::string& bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
}

// Length, name, data, CRC (PNG specification, section 5.3).
void append_chunk(std::string_view name, std::string_view data, std::string& png) {
  append_u32(static_cast<std::uint32_t>(data.size()), png);
  const std::string named = std::string(name) + std::string(data);
  png += named;
  append_u32(static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(named.data()),
                                                static_cast<uInt>(named.size()))),
             png);
}

std::string deflated(const std::string& bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int result = ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                                 reinterpret_cast<const Bytef*>(bytes.data()),
                                 static_cast<uLong>(bytes.size()), 3);
  if (result != Z_OK) throw Error(Reason::out_of_memory, "no memory to compress a depth picture");
  packed.resize(size);
  return packed;
}

bool valid(float depth) { return std::isfinite(depth) && depth > 0; }

EncodedDepth depth_png(std::span<const float> depth, int width, int height) {
  float largest = 0;
  for (const float value : depth) largest = valid(value) ? std::max(largest, value) : largest;
  EncodedDepth result;
  result.units_per_step = largest > 0 ? largest / kMostSteps : 1;
  // Each row: the filter's number (1: differences to the sample on the left), then the samples,
  // high byte first.
  std::string rows;
  rows.reserve(std::size_t(height) * (2 * std::size_t(width) + 1));
  for (int y = 0; y < height; ++y) {
    rows += '\1';
    std::array<std::uint8_t, 2> left{};
    for (int x = 0; x < width; ++x) {
      const float value = depth[std::size_t(y) * width + x];
      const double steps = valid(value) ? std::round(value / result.units_per_step) : 0;
      const auto sample =
          static_cast<std::uint16_t>(valid(value) ? std::clamp(steps, 1.0, kMostSteps) : 0);
      const std::array<std::uint8_t, 2> now{static_cast<std::uint8_t>(sample >> 8),
                                            static_cast<std::uint8_t>(sample)};
      for (int byte = 0; byte < 2; ++byte) rows += static_cast<char>(now[byte] - left[byte]);
      left = now;
    }
  }
  std::string head;
  append_u32(static_cast<std::uint32_t>(width), head);
  append_u32(static_cast<std::uint32_t>(height), head);
  head += std::string("\x10\0\0\0\0", 5);  // 16 bit, grey, deflate, adaptive filters, in order
  result.bytes = "\x89PNG\r\n\x1A\n";
  append_chunk("IHDR", head, result.bytes);
  append_chunk(
      "tEXt",
      std::string("skyfix_units_per_step") + '\0' + fmt::format("{}", result.units_per_step),
      result.bytes);
  append_chunk("IDAT", deflated(rows), result.bytes);
  append_chunk("IEND", "", result.bytes);
  return result;
}

EncodedDepth depth_npy(std::span<const float> depth, int width, int height) {
  const std::array<std::size_t, 2> shape{std::size_t(height), std::size_t(width)};
  EncodedDepth result;
  result.bytes = npy::header(npy::dtype<float>(), shape);
  result.bytes.append(reinterpret_cast<const char*>(depth.data()), depth.size_bytes());
  return result;
}

}  // namespace

std::string_view depth_format_name(DepthFormat format) {
  switch (format) {
    case DepthFormat::none:
      return "none";
    case DepthFormat::png:
      return "png";
    case DepthFormat::npy:
      return "npy";
  }
  return "none";
}

DepthFormat depth_format_from_name(std::string_view name) {
  for (const DepthFormat format : {DepthFormat::none, DepthFormat::png, DepthFormat::npy}) {
    if (depth_format_name(format) == name) return format;
  }
  throw Error(Reason::bad_option,
              "--depth must be none, png or npy, not \"" + std::string(name) + "\"");
}

std::filesystem::path depth_path(std::string_view frame_name, DepthFormat format,
                                 bool keep_suffix) {
  const std::size_t dot = frame_name.rfind('.');
  if (!keep_suffix && looks_like_image_name(std::filesystem::path(frame_name))) {
    frame_name = frame_name.substr(0, dot);
  }
  return frame_file_path("depth", frame_name, "." + std::string(depth_format_name(format)));
}

EncodedDepth encode_depth(std::span<const float> depth, int width, int height, DepthFormat format) {
  assert(width > 0 && height > 0 && depth.size() == std::size_t(width) * height);
  return format == DepthFormat::npy ? depth_npy(depth, width, height)
                                    : depth_png(depth, width, height);
}

}  // namespace skyfix
