#include "skyfix/image/tiff_tags.h"

#include <algorithm>
#include <optional>

#include "skyfix/image/photo_blocks.h"

namespace skyfix {
namespace {

constexpr std::size_t kTiffHeadBytes = 8;
constexpr std::size_t kEntryBytes = 12;
constexpr std::uint16_t kXmpTag = 700;
// Longest values copied out of a file. What we read of EXIF is short; strip tables are not.
constexpr std::size_t kMaxValueBytes = 256;
constexpr std::size_t kMaxXmpBytes = std::size_t{1} << 20;

// Size of one value of a field type (TIFF 6.0, page 15); 0 for what the standard does not have.
std::size_t type_bytes(std::uint16_t type) {
  constexpr std::size_t kBytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8};
  return type < std::size(kBytes) ? kBytes[type] : 0;
}

std::size_t directory_bytes(const TiffDirectory& directory) {
  std::size_t bytes = 2 + kEntryBytes * directory.entries().size() + 4;
  for (const auto& entry : directory.entries()) {
    if (entry.value.size() > 4) bytes += entry.value.size() + entry.value.size() % 2;
  }
  return bytes;
}

// A directory whose first byte stands at `offset` of the TIFF; long values follow it.
std::string directory_at(std::size_t offset, bool big_endian, const TiffDirectory& directory) {
  std::vector<TiffDirectory::Entry> entries = directory.entries();
  std::ranges::stable_sort(entries, {}, &TiffDirectory::Entry::tag);
  std::string table = tiff_bytes(static_cast<std::uint32_t>(entries.size()), 2, big_endian);
  std::string values;
  const std::size_t values_offset = offset + 2 + kEntryBytes * entries.size() + 4;
  for (const auto& entry : entries) {
    table += tiff_bytes(entry.tag, 2, big_endian);
    table += tiff_bytes(entry.type, 2, big_endian);
    table += tiff_bytes(entry.count, 4, big_endian);
    if (entry.value.size() <= 4) {
      std::string inside = entry.value;
      inside.resize(4, '\0');
      table += inside;
      continue;
    }
    table += tiff_bytes(static_cast<std::uint32_t>(values_offset + values.size()), 4, big_endian);
    values += entry.value;
    if (values.size() % 2 != 0) values.push_back('\0');
  }
  return table + tiff_bytes(0, 4, big_endian) + values;
}

// Reads a TIFF with every offset checked.
class TiffReader {
 public:
  explicit TiffReader(std::string_view file)
      : file_(file), big_endian_(!file.empty() && file.front() == 'M') {}

  bool big_endian() const { return big_endian_; }

  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > file_.size() || size > file_.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t from = big_endian_ ? at + i : at + size - 1 - i;
      value = value << 8 | static_cast<unsigned char>(file_[from]);
    }
    return value;
  }

  // The entries of the directory at `offset` whose values are small enough to be what we read and
  // lie inside the file; of equal tags the first.
  std::vector<TiffDirectory::Entry> directory(std::size_t offset) const {
    constexpr std::uint32_t kMaxEntries = 200;
    std::vector<TiffDirectory::Entry> entries;
    const std::uint32_t count = std::min(number(offset, 2).value_or(0), kMaxEntries);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t at = offset + 2 + kEntryBytes * i;
      const auto tag = number(at, 2);
      if (!tag || std::ranges::find(entries, *tag, &TiffDirectory::Entry::tag) != entries.end()) {
        continue;
      }
      if (auto entry = entry_at(at, static_cast<std::uint16_t>(*tag))) entries.push_back(*entry);
    }
    return entries;
  }

  // The value of an entry that points to a directory.
  std::optional<std::size_t> pointer(const TiffDirectory::Entry& entry) const {
    if (entry.value.size() != 4) return std::nullopt;
    return TiffReader(entry.value, big_endian_).number(0, 4);
  }

 private:
  TiffReader(std::string_view bytes, bool big_endian) : file_(bytes), big_endian_(big_endian) {}

  std::optional<TiffDirectory::Entry> entry_at(std::size_t at, std::uint16_t tag) const {
    const std::size_t max_bytes = tag == kXmpTag ? kMaxXmpBytes : kMaxValueBytes;
    const auto type = number(at + 2, 2);
    const auto count = number(at + 4, 4);
    if (!type || !count) return std::nullopt;
    const std::size_t bytes = type_bytes(static_cast<std::uint16_t>(*type)) * *count;
    if (bytes == 0 || bytes > max_bytes) return std::nullopt;
    const std::optional<std::size_t> value_at = bytes <= 4 ? at + 8 : number(at + 8, 4);
    if (!value_at || *value_at > file_.size() || bytes > file_.size() - *value_at) {
      return std::nullopt;
    }
    return TiffDirectory::Entry{tag, static_cast<std::uint16_t>(*type), *count,
                                std::string(file_.substr(*value_at, bytes))};
  }

  std::string_view file_;
  bool big_endian_;
};

// What is copied into a block of its own: not the packet, not the pointers (they get new values).
TiffDirectory plain_entries(const std::vector<TiffDirectory::Entry>& entries) {
  TiffDirectory kept;
  for (const auto& entry : entries) {
    const bool special =
        entry.tag == kXmpTag || entry.tag == kExifDirectoryTag || entry.tag == kGpsDirectoryTag;
    if (!special) kept.add(entry);
  }
  return kept;
}

TiffDirectory::Entry pointer_entry(std::uint16_t tag, std::size_t offset, bool big_endian) {
  return {tag, static_cast<std::uint16_t>(TiffType::long_), 1,
          tiff_bytes(static_cast<std::uint32_t>(offset), 4, big_endian)};
}

}  // namespace

std::string tiff_bytes(std::uint32_t value, int size, bool big_endian) {
  std::string bytes;
  for (int i = 0; i < size; ++i) {
    const int shift = 8 * (big_endian ? size - 1 - i : i);
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return bytes;
}

std::string build_exif_block(bool big_endian, TiffDirectory main, const TiffDirectory& exif,
                             const TiffDirectory& gps) {
  // A pointer's value does not change the size of its directory, so offsets are known up front.
  std::size_t end = kTiffHeadBytes + directory_bytes(main) +
                    kEntryBytes * (std::size_t{!exif.empty()} + std::size_t{!gps.empty()});
  std::string tail;
  for (const auto& [tag, directory] :
       {std::pair(kExifDirectoryTag, &exif), std::pair(kGpsDirectoryTag, &gps)}) {
    if (directory->empty()) continue;
    main.add(pointer_entry(tag, end, big_endian));
    tail += directory_at(end, big_endian, *directory);
    end += directory_bytes(*directory);
  }
  std::string block(kExifHead);
  block += big_endian ? "MM" : "II";
  block += tiff_bytes(42, 2, big_endian);
  block += tiff_bytes(kTiffHeadBytes, 4, big_endian);
  return block + directory_at(kTiffHeadBytes, big_endian, main) + tail;
}

TiffTags collect_tiff_tags(std::string_view file) {
  const TiffReader reader(file);
  const auto main = reader.directory(reader.number(4, 4).value_or(0));
  TiffDirectory exif;
  TiffDirectory gps;
  TiffTags tags;
  for (const auto& entry : main) {
    if (entry.tag == kXmpTag) tags.xmp = entry.value;
    const bool is_exif = entry.tag == kExifDirectoryTag;
    if (!is_exif && entry.tag != kGpsDirectoryTag) continue;
    const auto offset = reader.pointer(entry);
    if (offset) (is_exif ? exif : gps) = plain_entries(reader.directory(*offset));
  }
  const TiffDirectory kept = plain_entries(main);
  if (!kept.empty() || !exif.empty() || !gps.empty()) {
    tags.exif = build_exif_block(reader.big_endian(), kept, exif, gps);
  }
  return tags;
}

}  // namespace skyfix
