// An open TIFF in memory (libtiff), with errors kept instead of printed. Private to this room.
#pragma once

#include <tiffio.h>

#include <cstdint>
#include <memory>
#include <string>

#include "skyfix/image/codec.h"

namespace skyfix::codec {

// The first picture of a TIFF. The bytes must outlive it.
class TiffFile {
 public:
  // Throws Error(corrupt_image).
  explicit TiffFile(Bytes bytes);

  TIFF* handle() const { return tiff_.get(); }
  int width() const { return width_; }
  int height() const { return height_; }
  // A 16-bit tag, or its default where the file does not have it.
  std::uint16_t tag(std::uint32_t number, std::uint16_t fallback) const;
  // Throws Error(corrupt_image) with libtiff's words.
  [[noreturn]] void fail() const;

 private:
  struct Close {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };
  static int keep_message(TIFF*, void* self, const char* module, const char* format, va_list args);
  static int drop_message(TIFF*, void* self, const char* module, const char* format, va_list args);
  void open();

  friend struct TiffIo;
  Bytes bytes_;
  std::uint64_t position_ = 0;
  std::string message_;
  int width_ = 0;
  int height_ = 0;
  std::unique_ptr<TIFF, Close> tiff_;  // last: its closing uses what is above
};

}  // namespace skyfix::codec
