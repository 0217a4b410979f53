// Files: mapped reading, atomic writing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace skyfix {

// A whole file mapped read-only. An empty file is an empty view. Move-only.
class MappedFile {
 public:
  MappedFile() = default;
  // Throws Error(unreadable_file) with the system's reason.
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }
  std::size_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::filesystem::path path_;
};

// The whole file as a string. Throws Error(unreadable_file).
std::string read_file(const std::filesystem::path& file);

// Writes beside `file` and renames: a reader sees the old or the new content, never a part. A
// symbolic link stays, what it leads to is written; what exists and is no regular file (a pipe, a
// device such as /dev/stdout) is written into. Creates the parent folder; keeps the permissions of
// a file that is replaced. Throws Error(unwritable_output).
void write_file_atomic(const std::filesystem::path& file, std::string_view content);
// The same for content in pieces, one behind the other.
void write_file_atomic(const std::filesystem::path& file, std::span<const std::string_view> pieces);

// A file that an option of the command line names. "-" is `standard_output`; otherwise as
// write_file_atomic, but a parent folder that does not exist is an error: it is rather a typo.
void write_output(const std::filesystem::path& file, std::string_view content,
                  std::ostream& standard_output);

// The same, for a table that grows: what is written is in the file at once, and stays there when
// the program dies. Opened, and so refused, before the work starts.
class GrowingOutput {
 public:
  // Writes nothing to an empty path. `standard_output` must outlive it.
  GrowingOutput(std::filesystem::path file, std::ostream& standard_output);
  ~GrowingOutput();
  GrowingOutput(const GrowingOutput&) = delete;
  GrowingOutput& operator=(const GrowingOutput&) = delete;
  // Throws Error(unwritable_output).
  void write(std::string_view text);

 private:
  std::filesystem::path file_;
  std::ostream& standard_output_;
  int descriptor_ = -1;
};

// The path by which an option means standard output.
bool is_standard_output(const std::filesystem::path& file);

// Creates a folder with its parents. Throws Error(unwritable_output).
void make_folder(const std::filesystem::path& folder);

// $XDG_CACHE_HOME/skyfix or ~/.cache/skyfix; the system's temporary folder where neither is set.
std::filesystem::path user_cache_folder();

}  // namespace skyfix
