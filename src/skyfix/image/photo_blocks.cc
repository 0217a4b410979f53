#include "skyfix/image/photo_blocks.h"

#include <algorithm>

#include "skyfix/image/tiff_tags.h"

namespace skyfix {
namespace {

using namespace std::string_view_literals;

// A packet larger than this is not a photo's.
constexpr std::size_t kMaxXmpBytes = std::size_t{1} << 20;

unsigned big_endian_16(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return unsigned{static_cast<unsigned char>(text[i])}; };
  return byte(at) << 8 | byte(at + 1);
}

std::size_t big_endian_32(std::string_view text, std::size_t at) {
  return std::size_t{big_endian_16(text, at)} << 16 | big_endian_16(text, at + 2);
}

void keep_segment(std::string_view payload, PhotoBlocks& blocks) {
  if (payload.starts_with(kExifHead) && blocks.exif.empty()) blocks.exif = payload;
  if (payload.starts_with(kXmpHead) && blocks.xmp.empty()) {
    blocks.xmp = payload.substr(kXmpHead.size());
  }
}

// Walks the marker segments up to the first scan (ITU T.81, annex B).
PhotoBlocks jpeg_blocks(std::string_view file) {
  constexpr unsigned char kApp1 = 0xe1, kStartOfScan = 0xda, kEndOfImage = 0xd9;
  PhotoBlocks blocks;
  std::size_t at = 2;
  while (at + 4 <= file.size() && file[at] == '\xff') {
    const auto marker = static_cast<unsigned char>(file[at + 1]);
    if (marker == 0xff) {  // padding
      ++at;
      continue;
    }
    if (marker == kStartOfScan || marker == kEndOfImage) break;
    const std::size_t length = big_endian_16(file, at + 2);
    if (length < 2 || at + 2 + length > file.size()) break;
    if (marker == kApp1) keep_segment(file.substr(at + 4, length - 2), blocks);
    at += 2 + length;
  }
  return blocks;
}

// The text of an uncompressed iTXt chunk with XMP's keyword: keyword, 0, compression flag and
// method, language, 0, translated keyword, 0, text (PNG specification, 11.3.4.5).
std::string_view xmp_of_text_chunk(std::string_view chunk) {
  constexpr std::string_view kHead = "XML:com.adobe.xmp\0\0\0"sv;
  if (!chunk.starts_with(kHead)) return {};
  chunk.remove_prefix(kHead.size());
  for (int skipped = 0; skipped < 2; ++skipped) {
    const std::size_t end = chunk.find('\0');
    if (end == std::string_view::npos) return {};
    chunk.remove_prefix(end + 1);
  }
  return chunk;
}

PhotoBlocks png_blocks(std::string_view file) {
  PhotoBlocks blocks;
  std::size_t at = 8;
  while (at + 12 <= file.size()) {
    const std::size_t length = big_endian_32(file, at);
    if (length > file.size() - at - 12) break;
    const std::string_view type = file.substr(at + 4, 4);
    const std::string_view chunk = file.substr(at + 8, length);
    if (type == "eXIf" && blocks.exif.empty()) blocks.exif = std::string(kExifHead).append(chunk);
    if (type == "iTXt" && blocks.xmp.empty()) blocks.xmp = xmp_of_text_chunk(chunk);
    at += 12 + length;
  }
  return blocks;
}

}  // namespace

PhotoBlocks find_photo_blocks(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  PhotoBlocks blocks;
  if (text.starts_with("\xff\xd8"sv)) {
    blocks = jpeg_blocks(text);
  } else if (text.starts_with("\x89PNG\r\n\x1a\n"sv)) {
    blocks = png_blocks(text);
  } else if (text.starts_with("II*\0"sv) || text.starts_with("MM\0*"sv)) {
    TiffTags tags = collect_tiff_tags(text);
    blocks = {std::move(tags.exif), std::move(tags.xmp)};
  }
  if (blocks.xmp.size() > kMaxXmpBytes) blocks.xmp.clear();
  return blocks;
}

}  // namespace skyfix
