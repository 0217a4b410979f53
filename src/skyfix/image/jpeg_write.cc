// JPEG encoding with libjpeg-turbo, into memory.
#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/image/codec.h"
#include "skyfix/image/jpeg_errors.h"

namespace skyfix {
namespace {

using codec::JpegErrors;

// A marker segment's length is 16 bits and counts its own two bytes.
constexpr std::size_t kMaxSegmentBytes = 65533;

class Compressor {
 public:
  Compressor() { state_.err = errors_.attach(); }
  ~Compressor() {
    jpeg_destroy_compress(&state_);
    std::free(buffer_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  std::string encode(const Image& image, int quality, const std::vector<std::string>& segments) {
    const bool done = codec::run_guarded(errors_.jump, [&] {
      start(image, quality);
      for (const std::string& segment : segments) {
        jpeg_write_marker(&state_, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(segment.data()),
                          static_cast<unsigned>(segment.size()));
      }
      while (state_.next_scanline < state_.image_height) {
        // libjpeg takes rows it does not change as non-const.
        JSAMPROW row = const_cast<JSAMPROW>(image.row(static_cast<int>(state_.next_scanline)));
        jpeg_write_scanlines(&state_, &row, 1);
      }
      jpeg_finish_compress(&state_);
    });
    if (!done) {
      buffer_ = nullptr;  // libjpeg may have moved it without telling us: only when memory ran out
      throw Error(Reason::unwritable_output, "the JPEG cannot be encoded: " + errors_.message());
    }
    return std::string(reinterpret_cast<const char*>(buffer_), size_);
  }

 private:
  void start(const Image& image, int quality) {
    jpeg_create_compress(&state_);
    jpeg_mem_dest(&state_, &buffer_, &size_);
    state_.image_width = static_cast<JDIMENSION>(image.width);
    state_.image_height = static_cast<JDIMENSION>(image.height);
    state_.input_components = image.channels;
    state_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&state_);  // 4:2:0 for colours
    jpeg_set_quality(&state_, quality, TRUE);
    jpeg_start_compress(&state_, TRUE);
  }

  JpegErrors errors_;
  jpeg_compress_struct state_{};
  unsigned char* buffer_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::string encode_jpeg(const Image& image, int quality,
                        const std::vector<std::string>& app1_segments) {
  assert(image.channels == 1 || image.channels == 3);
  assert(image.pixels.size() == std::size_t(image.width) * image.height * image.channels);
  if (std::max(image.width, image.height) > JPEG_MAX_DIMENSION) {
    throw Error(Reason::unwritable_output,
                "a JPEG holds at most " + std::to_string(JPEG_MAX_DIMENSION) + " pixels a side");
  }
  for (const std::string& segment : app1_segments) {
    if (segment.size() > kMaxSegmentBytes) {
      throw Error(Reason::unwritable_output, "the metadata do not fit into a JPEG segment");
    }
  }
  return Compressor().encode(image, std::clamp(quality, 1, 100), app1_segments);
}

void write_jpeg(const std::filesystem::path& file, const Image& image, int quality,
                const std::vector<std::string>& app1_segments) {
  write_file_atomic(file, encode_jpeg(image, quality, app1_segments));
}

}  // namespace skyfix
