// JPEG decoding with libjpeg-turbo, from memory.
#include "skyfix/image/jpeg_errors.h"

// jerror.h needs jpeglib.h first.
#include <jerror.h>

#include <algorithm>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/image/codec.h"

namespace skyfix::codec {
namespace {

// Real progressive files have some ten scans. Each one costs a pass over all the pixels, so a small
// file with thousands of them would keep us busy for hours.
constexpr int kMaxScans = 500;

void refuse_endless_scans(j_common_ptr common) {
  const auto decompressor = reinterpret_cast<j_decompress_ptr>(common);
  if (decompressor->input_scan_number > kMaxScans) ERREXIT(common, JERR_BAD_PROGRESSION);
}

Reason reason_of(int message_code) {
  switch (message_code) {
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
      return Reason::unsupported_image;
    case JERR_OUT_OF_MEMORY:
      return Reason::out_of_memory;
    case JERR_IMAGE_TOO_BIG:
    case JERR_WIDTH_OVERFLOW:
      return Reason::image_too_large;
    default:
      return Reason::corrupt_image;
  }
}

class Decompressor {
 public:
  explicit Decompressor(Bytes bytes) : bytes_(bytes) {
    state_.err = errors_.attach();
    progress_.progress_monitor = refuse_endless_scans;
  }
  ~Decompressor() { jpeg_destroy_decompress(&state_); }
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  void read_header() {
    run([this] {
      jpeg_create_decompress(&state_);
      state_.progress = &progress_;
      jpeg_mem_src(&state_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      jpeg_read_header(&state_, TRUE);
    });
  }

  // The header's colours decide what libjpeg can turn them into.
  void choose_output(bool grey, int long_side) {
    switch (state_.jpeg_color_space) {
      case JCS_GRAYSCALE:
      case JCS_YCbCr:
      case JCS_RGB:
        state_.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
        break;
      case JCS_CMYK:
      case JCS_YCCK:
        state_.out_color_space = JCS_CMYK;
        break;
      default:
        throw Error(Reason::unsupported_image, "this JPEG's colours (" +
                                                   std::to_string(state_.num_components) +
                                                   " components) are not supported");
    }
    state_.scale_denom = 8;
    state_.scale_num = eighths(long_side);
    run([this] { jpeg_calc_output_dimensions(&state_); });
  }

  // All rows, with the channels of the output colours (1, 3, or 4 for CMYK).
  Image read_pixels() {
    Image image = blank_image(static_cast<int>(state_.output_width),
                              static_cast<int>(state_.output_height), state_.out_color_components);
    run([this, &image] {
      jpeg_start_decompress(&state_);
      while (state_.output_scanline < state_.output_height) {
        JSAMPROW row = image.row(static_cast<int>(state_.output_scanline));
        jpeg_read_scanlines(&state_, &row, 1);
      }
      jpeg_finish_decompress(&state_);
    });
    return image;
  }

  const jpeg_decompress_struct& state() const { return state_; }

 private:
  template <class Step>
  void run(const Step& step) {
    if (run_guarded(errors_.jump, step)) return;
    throw Error(reason_of(errors_.base.msg_code),
                "the JPEG cannot be decoded: " + errors_.message());
  }

  // The smallest n of n/8 scaling that still gives `long_side`.
  unsigned eighths(int long_side) const {
    const std::uint64_t full = std::max(state_.image_width, state_.image_height);
    if (long_side <= 0) return 8;
    for (unsigned n = 1; n < 8; ++n) {
      if ((full * n + 7) / 8 >= static_cast<std::uint64_t>(long_side)) return n;
    }
    return 8;
  }

  Bytes bytes_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct state_{};
};

// Print colours to RGB. Adobe's files hold the inverse of the ink: 255 is none.
Image rgb_from_cmyk(const Image& cmyk, bool inverted) {
  Image rgb = blank_image(cmyk.width, cmyk.height, 3);
  const std::uint8_t flip = inverted ? 0 : 255;
  const std::size_t count = rgb.pixels.size() / 3;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned light = cmyk.pixels[4 * i + 3] ^ flip;
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned colour = cmyk.pixels[4 * i + c] ^ flip;
      rgb.pixels[3 * i + c] = static_cast<std::uint8_t>((colour * light + 127) / 255);
    }
  }
  return rgb;
}

}  // namespace

ImageInfo probe_jpeg(Bytes bytes) {
  Decompressor decompressor(bytes);
  decompressor.read_header();
  const auto& state = decompressor.state();
  return {static_cast<int>(state.image_width), static_cast<int>(state.image_height), "jpeg"};
}

Image decode_jpeg(Bytes bytes, const DecodeOptions& options) {
  Decompressor decompressor(bytes);
  decompressor.read_header();
  decompressor.choose_output(options.grey, options.long_side);
  Image image = decompressor.read_pixels();
  if (image.channels != 4) return image;
  image = rgb_from_cmyk(image, decompressor.state().saw_Adobe_marker != 0);
  return options.grey ? to_grey(image) : image;
}

}  // namespace skyfix::codec
