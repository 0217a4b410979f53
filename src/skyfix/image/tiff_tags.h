// Tags of a classic TIFF (TIFF 6.0, section 2), which EXIF uses too: building small tag blocks and
// collecting the ones we read out of a large file. Private to this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

// Field types.
enum class TiffType : std::uint16_t { byte = 1, ascii = 2, short_ = 3, long_ = 4, rational = 5 };

// Tags that point to further directories.
inline constexpr std::uint16_t kExifDirectoryTag = 0x8769;
inline constexpr std::uint16_t kGpsDirectoryTag = 0x8825;

// The entries of one directory, values in the byte order of the block they go into.
class TiffDirectory {
 public:
  struct Entry {
    std::uint16_t tag = 0;
    std::uint16_t type = 0;
    std::uint32_t count = 0;
    std::string value;
  };
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// Writes unsigned numbers in a byte order.
std::string tiff_bytes(std::uint32_t value, int size, bool big_endian);

// "Exif\0\0" and a TIFF with the directories linked; empty ones are left out.
std::string build_exif_block(bool big_endian, TiffDirectory main, const TiffDirectory& exif,
                             const TiffDirectory& gps);

struct TiffTags {
  std::string exif;  // a block as from build_exif_block, empty if there is nothing
  std::string xmp;
};
// What the first picture of a TIFF file says in its main, EXIF and GPS directories. Long
// values (strip tables and the like) are left out, as is what points outside the file.
TiffTags collect_tiff_tags(std::string_view file);

}  // namespace skyfix
