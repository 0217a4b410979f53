// Files: mapped reading, atomic writing.
#pragma once

#include <cstddef>
#include <filesystem>
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

// Writes beside `file` and renames: a reader sees the old or the new content, never a part.
// Creates the parent folder. Throws Error(unwritable_output).
void write_file_atomic(const std::filesystem::path& file, std::string_view content);

// Creates a folder with its parents. Throws Error(unwritable_output).
void make_folder(const std::filesystem::path& folder);

// $XDG_CACHE_HOME/skyfix or ~/.cache/skyfix; the system's temporary folder where neither is set.
std::filesystem::path user_cache_folder();

}  // namespace skyfix
