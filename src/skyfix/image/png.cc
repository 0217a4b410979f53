// PNG reading and writing with libpng, from and into memory.
#include <png.h>

#include <cassert>
#include <cstdio>
#include <cstring>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/image/codec.h"

namespace skyfix {
namespace {

using codec::Bytes;

struct PngErrors {
  std::jmp_buf jump;
  char text[128] = "";
};

[[noreturn]] void jump_out(png_structp png, png_const_charp message) {
  auto& errors = *static_cast<PngErrors*>(png_get_error_ptr(png));
  std::snprintf(errors.text, sizeof errors.text, "%s", message);
  std::longjmp(errors.jump, 1);
}

void print_nothing(png_structp, png_const_charp) {}

class PngReader {
 public:
  explicit PngReader(Bytes bytes) : rest_(bytes) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &errors_, jump_out, print_nothing);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error(Reason::out_of_memory, "no memory to decode a PNG");
    }
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  void read_header() {
    run([this] {
      png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // ours is the pixel count
      png_set_read_fn(png_, this, take_bytes);
      png_read_info(png_, info_);
    });
  }

  int width() const { return static_cast<int>(png_get_image_width(png_, info_)); }
  int height() const { return static_cast<int>(png_get_image_height(png_, info_)); }
  bool has_alpha() const {
    return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0 ||
           png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
  }
  bool has_colour() const { return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0; }

  // 1 channel for grey files, else 3; with opacity, where the file has it and it is wanted, one
  // more.
  Image read_pixels(bool keep_alpha) {
    const bool opacity = keep_alpha && has_alpha();
    const int channels = (has_colour() ? 3 : 1) + (opacity ? 1 : 0);
    int passes = 1;
    run([this, &passes, opacity] {
      png_set_expand(png_);
      png_set_scale_16(png_);
      if (!opacity) png_set_strip_alpha(png_);
      passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    if (png_get_rowbytes(png_, info_) != std::size_t(width()) * channels) {
      throw Error(Reason::unsupported_image, "this PNG's pixel format is not supported");
    }
    Image image = codec::blank_image(width(), height(), channels);
    run([this, &image, passes] {
      for (int pass = 0; pass < passes; ++pass) {
        for (int y = 0; y < image.height; ++y) png_read_row(png_, image.row(y), nullptr);
      }
      png_read_end(png_, nullptr);
    });
    return image;
  }

 private:
  static void take_bytes(png_structp png, png_bytep to, png_size_t count) {
    Bytes& rest = static_cast<PngReader*>(png_get_io_ptr(png))->rest_;
    if (rest.size() < count) png_error(png, "the file is cut off");
    std::memcpy(to, rest.data(), count);
    rest = rest.subspan(count);
  }

  template <class Step>
  void run(const Step& step) {
    if (codec::run_guarded(errors_.jump, step)) return;
    throw Error(Reason::corrupt_image, std::string("the PNG cannot be decoded: ") + errors_.text);
  }

  Bytes rest_;
  PngErrors errors_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class PngWriter {
 public:
  PngWriter() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &errors_, jump_out, print_nothing);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw Error(Reason::out_of_memory, "no memory to encode a PNG");
    }
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  std::string encode(const Image& image) {
    const bool done = codec::run_guarded(errors_.jump, [&] {
      png_set_write_fn(png_, &content_, append, nullptr);
      png_set_compression_level(png_, kCompressionLevel);
      png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width),
                   static_cast<png_uint_32>(image.height), 8,
                   image.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB,
                   PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
      png_write_info(png_, info_);
      for (int y = 0; y < image.height; ++y) png_write_row(png_, image.row(y));
      png_write_end(png_, info_);
    });
    if (done) return std::move(content_);
    throw Error(Reason::unwritable_output,
                std::string("the PNG cannot be encoded: ") + errors_.text);
  }

 private:
  static constexpr int kCompressionLevel = 3;  // photos gain 2 % from 9, at five times the time

  static void append(png_structp png, png_bytep bytes, png_size_t count) {
    static_cast<std::string*>(png_get_io_ptr(png))
        ->append(reinterpret_cast<const char*>(bytes), count);
  }

  PngErrors errors_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::string content_;
};

}  // namespace

ImageInfo codec::probe_png(Bytes bytes) {
  PngReader reader(bytes);
  reader.read_header();
  return {reader.width(), reader.height(), "png"};
}

Image codec::decode_png(Bytes bytes, const DecodeOptions& options) {
  PngReader reader(bytes);
  reader.read_header();
  Image image = reader.read_pixels(options.alpha == Alpha::over_white);
  if (image.channels == 2 || image.channels == 4) image = over_white(image);
  return to_channels(std::move(image), options.grey ? 1 : 3);
}

std::string encode_png(const Image& image) {
  assert(image.channels == 1 || image.channels == 3);
  assert(image.pixels.size() == std::size_t(image.width) * image.height * image.channels);
  return PngWriter().encode(image);
}

void write_png(const std::filesystem::path& file, const Image& image) {
  write_file_atomic(file, encode_png(image));
}

}  // namespace skyfix
