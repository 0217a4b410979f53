// Pictures from a pipe: JPEGs one behind the other, or raw RGB. For this room's own sources.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace skyfix {

// Finds where a JPEG ends in bytes that come piece by piece. It begins at the first byte.
class JpegScanner {
 public:
  enum class State { wants_more, whole, broken };
  // `bytes`: all of the JPEG that is there by now (at least what was there at the last call).
  State scan(std::span<const std::byte> bytes);
  // Of a whole one: its size. Of a broken one: how many bytes are of no use.
  std::size_t size() const { return at_; }

 private:
  bool skip_entropy_coded(std::span<const std::byte> bytes);
  std::size_t at_ = 2;  // behind the start marker
  bool in_scan_ = false;
};

// "rgb24:WIDTHxHEIGHT@FPS"
struct RawFormat {
  int width = 0;
  int height = 0;
  double frames_per_second = 0;
};
// nullopt for "mjpeg". Throws Error(bad_option).
std::optional<RawFormat> parse_pipe_format(const std::string& format);

}  // namespace skyfix
