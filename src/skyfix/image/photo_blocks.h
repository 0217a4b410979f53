// Where a picture file keeps its EXIF and XMP. Private to this room.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace skyfix {

inline constexpr std::string_view kExifHead{"Exif\0\0", 6};
inline constexpr std::string_view kXmpHead{"http://ns.adobe.com/xap/1.0/\0", 29};

// As found, unchecked; empty where there is none.
struct PhotoBlocks {
  std::string exif;  // "Exif\0\0" and a small TIFF
  std::string xmp;   // the XML packet
};

// JPEG: the first APP1 segments of each kind. PNG: the eXIf chunk and the XMP text chunk. TIFF: the
// tags we read, copied into a small TIFF of their own (libexif wants them within 64 KiB).
PhotoBlocks find_photo_blocks(std::span<const std::byte> file);

}  // namespace skyfix
