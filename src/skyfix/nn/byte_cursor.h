// Reading little-endian numbers and runs of bytes from a file that is not trusted.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "skyfix/base/error.h"

namespace skyfix {

static_assert(std::endian::native == std::endian::little, "tensors are mapped as they are");

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A file's name as an error shows it: printable, and no longer than a line.
std::string shown_name(std::string_view text);

class ByteCursor {
 public:
  // `what` names the part that is read, for errors: "the pickle". Both must outlive the cursor.
  ByteCursor(std::span<const std::byte> bytes, std::string_view what, const std::string& file)
      : bytes_(bytes), what_(what), file_(file) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return bytes_.size() - position_; }

  // Throw Error(bad_weights) when fewer bytes are left.
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > left()) fail("is cut off");
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }
  template <class Number>
  Number read() {
    Number number;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  std::string_view take_text(std::uint64_t count) { return text_of(take(count)); }
  // Up to the next line feed, which is taken too.
  std::string_view take_line() {
    const std::size_t end = text_of(bytes_.subspan(position_)).find('\n');
    if (end == std::string_view::npos) fail("is cut off");
    const std::string_view line = take_text(end);
    take(1);
    return line;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Reason::bad_weights, std::string(what_) + " " + problem, file_);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view what_;
  const std::string& file_;
  std::size_t position_ = 0;
};

}  // namespace skyfix
