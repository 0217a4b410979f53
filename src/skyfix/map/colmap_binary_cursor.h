// A mapped binary file read front to back: every read is checked against the bytes left, and an
// error names the file, the record and the byte offset.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "skyfix/base/file.h"
#include "skyfix/map/colmap_records.h"

namespace skyfix::colmap_io {

static_assert(std::endian::native == std::endian::little, "the files are read as they are");

class BinaryCursor : public RecordSource {
 public:
  // Reads the u64 number of records that every file begins with, and checks that so many of
  // `least_record_bytes` can follow. `record_word` is what messages call a record.
  BinaryCursor(const std::filesystem::path& file, std::string record_word,
               std::size_t least_record_bytes);

  std::size_t record_count() const { return record_count_; }
  // To be called before the record `index` (from 0) is read, for messages.
  void start_record(std::size_t index) { record_ = index + 1; }

  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> take_bytes(std::size_t bytes) {
    if (bytes > bytes_left()) fail_cut(bytes);
    const auto view = file_.bytes().subspan(offset_, bytes);
    offset_ += bytes;
    return view;
  }

  // A count of type Count after which at least count * bytes_each bytes must follow.
  template <class Count>
  std::size_t take_count(std::size_t bytes_each) {
    return checked_count(take<Count>(), bytes_each);
  }

  // The bytes up to a zero, which is skipped.
  std::string_view take_name();
  PoseNumbers take_pose() { return take<PoseNumbers>(); }

  std::size_t bytes_left() const { return file_.size() - offset_; }

 private:
  std::string place() const override;
  const std::filesystem::path& file() const override { return file_.path(); }
  std::size_t checked_count(std::uint64_t count, std::size_t bytes_each) const;
  [[noreturn]] void fail_cut(std::size_t wanted) const;

  MappedFile file_;
  std::string record_word_;
  std::size_t offset_ = 0;
  std::size_t record_ = 0;  // from 1; 0 = the header
  std::size_t record_count_ = 0;
};

}  // namespace skyfix::colmap_io
