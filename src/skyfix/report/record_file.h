// records.jsonl: an append-only file of lines that only one process writes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

// The whole lines of a text; what follows the last line end is left out.
std::vector<std::string> whole_lines(std::string_view text);

class RecordFile {
 public:
  // Creates or opens, and locks until destruction (or the process's death). Throws
  // Error(unwritable_output), also when another process holds the lock.
  explicit RecordFile(const std::filesystem::path& file);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // Drops everything beyond `bytes`.
  void truncate(std::size_t bytes);
  // Appends the line and its end, handed to the system before returning; every 32 lines they are
  // forced to the disk. On failure (disk full) the file is as before. Throws
  // Error(unwritable_output).
  void append(std::string_view line);
  // Forces everything to the disk.
  void sync();

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
  int lines_since_sync_ = 0;
};

}  // namespace skyfix
