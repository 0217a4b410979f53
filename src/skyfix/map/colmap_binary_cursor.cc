#include "skyfix/map/colmap_binary_cursor.h"

namespace skyfix::colmap_io {

BinaryCursor::BinaryCursor(const std::filesystem::path& file, std::string record_word,
                           std::size_t least_record_bytes)
    : file_(file), record_word_(std::move(record_word)) {
  record_count_ = take_count<std::uint64_t>(least_record_bytes);
}

std::size_t BinaryCursor::checked_count(std::uint64_t count, std::size_t bytes_each) const {
  if (count > bytes_left() / bytes_each) {
    fail("a count of " + std::to_string(count) + " cannot be right: only " +
         std::to_string(bytes_left()) +
         " bytes follow. The file is cut off or damaged; copy or "
         "export it again");
  }
  return static_cast<std::size_t>(count);
}

std::string_view BinaryCursor::take_name() {
  const std::string_view rest = file_.text().substr(offset_);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) fail("the name has no end");
  offset_ += end + 1;
  return rest.substr(0, end);
}

std::string BinaryCursor::place() const {
  std::string where = file_.path().filename().string() + ": ";
  if (record_ == 0) {
    where += "header";
  } else {
    where += record_word_ + " record " + std::to_string(record_) + " of " +
             std::to_string(record_count_);
  }
  return where + ", byte " + std::to_string(offset_);
}

void BinaryCursor::fail_cut(std::size_t wanted) const {
  fail("the file ends " + std::to_string(wanted - bytes_left()) +
       " bytes too early. It is cut off; copy or export it again");
}

}  // namespace skyfix::colmap_io
