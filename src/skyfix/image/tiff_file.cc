#include "skyfix/image/tiff_file.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <limits>

#include "skyfix/base/error.h"

namespace skyfix::codec {

// The calls libtiff makes to read "the file".
struct TiffIo {
  static TiffFile& file(thandle_t handle) { return *static_cast<TiffFile*>(handle); }

  static tmsize_t read(thandle_t handle, void* to, tmsize_t wanted) {
    TiffFile& self = file(handle);
    if (wanted <= 0 || self.position_ >= self.bytes_.size()) return 0;
    const auto left = static_cast<tmsize_t>(self.bytes_.size() - self.position_);
    const tmsize_t count = std::min(wanted, left);
    std::memcpy(to, self.bytes_.data() + self.position_, static_cast<std::size_t>(count));
    self.position_ += static_cast<std::uint64_t>(count);
    return count;
  }
  static tmsize_t write(thandle_t, void*, tmsize_t) { return 0; }
  static toff_t seek(thandle_t handle, toff_t offset, int whence) {
    TiffFile& self = file(handle);
    if (whence == SEEK_CUR) offset += self.position_;
    if (whence == SEEK_END) offset += self.bytes_.size();
    return self.position_ = offset;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t handle) { return file(handle).bytes_.size(); }
  static int map(thandle_t handle, void** base, toff_t* size) {
    // libtiff only reads through the pointer: the mode is "r".
    *base = const_cast<std::byte*>(file(handle).bytes_.data());
    *size = file(handle).bytes_.size();
    return 1;
  }
  static void unmap(thandle_t, void*, toff_t) {}
};

TiffFile::TiffFile(Bytes bytes) : bytes_(bytes) {
  open();
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  TIFFGetField(handle(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(handle(), TIFFTAG_IMAGELENGTH, &height);
  constexpr std::uint32_t kMax = std::numeric_limits<int>::max();
  if (width == 0 || height == 0 || width > kMax || height > kMax) {
    throw Error(Reason::corrupt_image, "the TIFF's size makes no sense");
  }
  width_ = static_cast<int>(width);
  height_ = static_cast<int>(height);
}

void TiffFile::open() {
  const std::unique_ptr<TIFFOpenOptions, void (*)(TIFFOpenOptions*)> options(TIFFOpenOptionsAlloc(),
                                                                             TIFFOpenOptionsFree);
  // A few bytes can ask libtiff for gigabytes (tile sizes, offset tables).
  constexpr tmsize_t kMaxAllocation = tmsize_t{1} << 30;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMaxAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_message, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), drop_message, this);
  tiff_.reset(TIFFClientOpenExt("image", "r", this, TiffIo::read, TiffIo::write, TiffIo::seek,
                                TiffIo::close, TiffIo::size, TiffIo::map, TiffIo::unmap,
                                options.get()));
  if (tiff_ == nullptr) fail();
}

std::uint16_t TiffFile::tag(std::uint32_t number, std::uint16_t fallback) const {
  std::uint16_t value = fallback;
  return TIFFGetFieldDefaulted(handle(), number, &value) == 1 ? value : fallback;
}

void TiffFile::fail() const {
  throw Error(Reason::corrupt_image, "the TIFF cannot be decoded: " + message_);
}

int TiffFile::keep_message(TIFF*, void* self, const char*, const char* format, va_list args) {
  std::array<char, 256> text{};
  std::vsnprintf(text.data(), text.size(), format, args);
  static_cast<TiffFile*>(self)->message_ = text.data();
  return 1;  // handled: nothing is printed
}

int TiffFile::drop_message(TIFF*, void*, const char*, const char*, va_list) { return 1; }

}  // namespace skyfix::codec
