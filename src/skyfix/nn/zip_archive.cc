#include "skyfix/nn/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "skyfix/base/error.h"
#include "skyfix/nn/byte_cursor.h"

namespace skyfix {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kDirectoryEntry = 0x02014b50,
                        kEndOfDirectory = 0x06054b50, kWideEndOfDirectory = 0x06064b50,
                        kWideLocator = 0x07064b50;
constexpr std::size_t kEndBytes = 22, kEntryBytes = 46, kWideLocatorBytes = 20, kWideEndBytes = 56;
constexpr std::uint64_t kLongestComment = 65535;
constexpr std::uint64_t kMostMembers = 1'000'000;
constexpr std::uint32_t kInWideField = 0xffffffff;
constexpr std::uint16_t kWideFieldId = 1, kEncrypted = 1, kStored = 0, kDeflated = 8;
// Deflate makes at most 258 bytes of 2 bits.
constexpr std::uint64_t kMostInflation = 1032;

struct Entry {
  std::uint16_t flags, method;
  std::uint32_t crc;
  std::uint64_t packed_size, size, header_offset;
  std::string_view name;
};

// Sizes of 4 GiB and more stand in an extra field, in this order, where the 32-bit field is full.
void read_wide_field(std::span<const std::byte> extra, const std::string& file, Entry& entry) {
  ByteCursor fields(extra, "an extra field of the zip directory", file);
  while (fields.left() >= 4) {
    const auto id = fields.read<std::uint16_t>();
    const auto size = fields.read<std::uint16_t>();
    ByteCursor field(fields.take(size), "an extra field of the zip directory", file);
    if (id != kWideFieldId) continue;
    for (std::uint64_t* value : {&entry.size, &entry.packed_size, &entry.header_offset}) {
      if (*value == kInWideField) *value = field.read<std::uint64_t>();
    }
    return;
  }
}

Entry read_entry(ByteCursor& directory, const std::string& file) {
  if (directory.read<std::uint32_t>() != kDirectoryEntry) directory.fail("is damaged");
  Entry entry{};
  directory.take(4);  // versions
  entry.flags = directory.read<std::uint16_t>();
  entry.method = directory.read<std::uint16_t>();
  directory.take(4);  // time and date
  entry.crc = directory.read<std::uint32_t>();
  entry.packed_size = directory.read<std::uint32_t>();
  entry.size = directory.read<std::uint32_t>();
  const auto name_bytes = directory.read<std::uint16_t>();
  const auto extra_bytes = directory.read<std::uint16_t>();
  const auto comment_bytes = directory.read<std::uint16_t>();
  directory.take(8);  // disk, attributes
  entry.header_offset = directory.read<std::uint32_t>();
  entry.name = directory.take_text(name_bytes);
  read_wide_field(directory.take(extra_bytes), file, entry);
  directory.take(comment_bytes);
  return entry;
}

// zlib counts in 32 bits: large members are handed over in pieces.
constexpr std::uint64_t kPiece = 1u << 30;

// Whether the packed bytes are one deflate stream of exactly `out.size()` bytes.
bool inflate_exactly(std::span<const std::byte> packed, std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  std::size_t in_done = 0, out_done = 0;
  int status = Z_OK;
  std::byte beyond;  // a stream that is longer than it says writes here, and is refused
  while (status == Z_OK) {
    const std::size_t in_piece = std::min<std::uint64_t>(packed.size() - in_done, kPiece);
    const std::size_t out_piece = std::min<std::uint64_t>(out.size() - out_done, kPiece);
    const bool full = out_done == out.size();
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data() + in_done));
    stream.avail_in = static_cast<uInt>(in_piece);
    stream.next_out = reinterpret_cast<Bytef*>(full ? &beyond : out.data() + out_done);
    stream.avail_out = full ? 1 : static_cast<uInt>(out_piece);
    status = inflate(&stream, Z_NO_FLUSH);
    in_done += in_piece - stream.avail_in;
    if (full && stream.avail_out == 0) break;
    if (!full) out_done += out_piece - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && out_done == out.size() && in_done == packed.size();
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::string shown_name(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string shown;
  for (const char c : text.substr(0, kLongest)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text.size() > kLongest ? shown + "..." : shown;
}

bool ZipArchive::looks_like_zip(std::span<const std::byte> bytes) {
  return text_of(bytes).starts_with("PK\x03\x04") || text_of(bytes).starts_with("PK\x05\x06");
}

ZipArchive::ZipArchive(std::span<const std::byte> bytes, std::string file,
                       std::uint64_t inflated_limit)
    : bytes_(bytes), file_(std::move(file)), inflated_left_(inflated_limit) {
  read_directory(find_directory());
  refuse_overlaps();
}

void ZipArchive::fail(const std::string& problem) const {
  throw Error(Reason::bad_weights, problem, file_);
}

ZipArchive::Directory ZipArchive::find_directory() const {
  const std::uint64_t first =
      bytes_.size() - std::min<std::uint64_t>(bytes_.size(), kEndBytes + kLongestComment);
  for (std::uint64_t at = bytes_.size(); at-- > first;) {
    if (bytes_.size() - at < kEndBytes) continue;
    ByteCursor end(bytes_.subspan(at), "the end of the zip directory", file_);
    if (end.read<std::uint32_t>() != kEndOfDirectory) continue;
    const auto disk = end.read<std::uint16_t>(), first_disk = end.read<std::uint16_t>();
    end.take(2);
    Directory directory;
    directory.members = end.read<std::uint16_t>();
    directory.size = end.read<std::uint32_t>();
    directory.offset = end.read<std::uint32_t>();
    if (end.read<std::uint16_t>() != end.left()) continue;  // a comment's text, not the end
    directory = wide_directory(at, directory);
    const bool split = disk != first_disk && disk != 0xffff && first_disk != 0xffff;
    if (split) fail("the zip archive is split over several files");
    if (directory.offset > at || directory.size > at - directory.offset) {
      fail("the zip directory lies outside the file");
    }
    return directory;
  }
  fail("the file is cut off: a zip archive's directory is missing at its end; get it again");
}

ZipArchive::Directory ZipArchive::wide_directory(std::uint64_t end_record,
                                                 const Directory& narrow) const {
  if (end_record < kWideLocatorBytes) return narrow;
  ByteCursor locator(bytes_.subspan(end_record - kWideLocatorBytes), "the zip locator", file_);
  if (locator.read<std::uint32_t>() != kWideLocator) return narrow;
  locator.take(4);
  const auto at = locator.read<std::uint64_t>();
  const std::uint64_t last = end_record - kWideLocatorBytes;
  if (at > last || last - at < kWideEndBytes) fail("the zip directory lies outside the file");
  ByteCursor record(bytes_.subspan(at), "the zip directory's end record", file_);
  if (record.read<std::uint32_t>() != kWideEndOfDirectory) fail("the zip directory is damaged");
  record.take(28);  // size of the record, versions, disks, members on this disk
  Directory wide;
  wide.members = record.read<std::uint64_t>();
  wide.size = record.read<std::uint64_t>();
  wide.offset = record.read<std::uint64_t>();
  return wide;
}

void ZipArchive::read_directory(const Directory& directory) {
  if (directory.members > std::min(kMostMembers, directory.size / kEntryBytes)) {
    fail("the zip directory names more members than it has room for");
  }
  ByteCursor entries(bytes_.subspan(directory.offset, directory.size), "the zip directory", file_);
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    const Entry entry = read_entry(entries, file_);
    const std::string shown = "the zip member " + shown_name(entry.name);
    if (entry.flags & kEncrypted) fail(shown + " is encrypted");
    if (entry.method != kStored && entry.method != kDeflated) {
      fail(shown + " is packed by a method that is not supported (" + std::to_string(entry.method) +
           ")");
    }
    Member member{{}, entry.size, entry.crc, entry.method == kDeflated};
    locate(entry.name, entry.header_offset, entry.packed_size, directory.offset, member);
    const bool possible = member.deflated ? entry.size / kMostInflation <= entry.packed_size
                                          : entry.size == entry.packed_size;
    if (!possible) fail(shown + " cannot unpack to the size that it says");
    if (!members_.emplace(entry.name, member).second) fail(shown + " is there twice");
  }
  if (entries.left() != 0) fail("the zip directory has something behind its last member");
}

void ZipArchive::locate(std::string_view name, std::uint64_t header_offset,
                        std::uint64_t packed_size, std::uint64_t directory_offset, Member& member) {
  if (header_offset > directory_offset) fail("a zip member lies outside the file");
  ByteCursor header(bytes_.subspan(header_offset, directory_offset - header_offset),
                    "the header of a zip member", file_);
  if (header.read<std::uint32_t>() != kLocalHeader) header.fail("is damaged");
  header.take(22);
  const auto name_bytes = header.read<std::uint16_t>();
  const auto extra_bytes = header.read<std::uint16_t>();
  if (header.take_text(name_bytes) != name) header.fail("has another name than the directory");
  header.take(extra_bytes);
  member.packed = header.take(packed_size);
}

void ZipArchive::refuse_overlaps() const {
  std::vector<std::span<const std::byte>> places;
  for (const auto& [name, member] : members_) places.push_back(member.packed);
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.data() < b.data(); });
  for (std::size_t i = 1; i < places.size(); ++i) {
    // Between two members lies at least a header.
    if (places[i - 1].data() + places[i - 1].size() >= places[i].data()) {
      fail("members of the zip archive overlap");
    }
  }
}

const ZipArchive::Member* ZipArchive::find(std::string_view name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

std::span<const std::byte> ZipArchive::content(const std::string& name) {
  const Member* member = find(name);
  if (member == nullptr) fail("the zip archive has no member " + shown_name(name));
  if (!member->deflated) return member->packed;
  if (const auto done = inflated_.find(name); done != inflated_.end()) return done->second;
  if (member->size > inflated_left_) {
    fail("the zip member " + shown_name(name) + " unpacks to " + std::to_string(member->size) +
         " bytes, beyond the limit");
  }
  const std::shared_ptr<std::byte[]> buffer(new std::byte[member->size]);
  const std::span<std::byte> unpacked(buffer.get(), member->size);
  if (!inflate_exactly(member->packed, unpacked) || checksum(unpacked) != member->crc) {
    fail("the zip member " + shown_name(name) + " is damaged; get the file again");
  }
  inflated_left_ -= member->size;
  owned_.push_back(buffer);
  inflated_[name] = unpacked;
  return unpacked;
}

}  // namespace skyfix
