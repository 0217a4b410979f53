// NumPy .npy files (format 1.0 and 2.0, little endian, C order): the arrays of a map folder and the
// descriptor cache, readable by everybody's tools. Reading maps the file and copies nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/base/file.h"

namespace skyfix {

namespace npy {
// The dtype string of an element type: "<f4", "<f8", "|u1", "<u4", "<u8", "<i8".
template <class T>
constexpr std::string_view dtype();
template <>
constexpr std::string_view dtype<float>() {
  return "<f4";
}
template <>
constexpr std::string_view dtype<double>() {
  return "<f8";
}
template <>
constexpr std::string_view dtype<std::uint8_t>() {
  return "|u1";
}
template <>
constexpr std::string_view dtype<std::uint32_t>() {
  return "<u4";
}
template <>
constexpr std::string_view dtype<std::uint64_t>() {
  return "<u8";
}
template <>
constexpr std::string_view dtype<std::int64_t>() {
  return "<i8";
}

// The header bytes (magic, version, dictionary, padding) of an array, to be followed by the data.
std::string header(std::string_view dtype, std::span<const std::size_t> shape);
}  // namespace npy

// A mapped array. data() is aligned to 64 bytes within the file, as NumPy writes it.
class NpyFile {
 public:
  NpyFile() = default;
  // Throws Error(unreadable_file) or, for anything but a well-formed file whose data are all there,
  // Error(bad_map) naming what is wrong.
  explicit NpyFile(const std::filesystem::path& file);

  const std::vector<std::size_t>& shape() const { return shape_; }
  std::size_t rows() const { return shape_.empty() ? 0 : shape_[0]; }
  // Elements in a row: the product of all dimensions but the first (1 for a vector).
  std::size_t row_size() const;
  std::size_t count() const { return rows() * row_size(); }

  // The elements. Throws Error(bad_map) when the file holds another type.
  template <class T>
  std::span<const T> as() const {
    require_dtype(npy::dtype<T>());
    return {reinterpret_cast<const T*>(file_.bytes().data() + data_offset_), count()};
  }

 private:
  void require_dtype(std::string_view wanted) const;

  MappedFile file_;
  std::string dtype_;
  std::vector<std::size_t> shape_;
  std::size_t data_offset_ = 0;
};

// Writes an array atomically. `shape` must multiply to values.size(). Throws
// Error(unwritable_output).
template <class T>
void write_npy(const std::filesystem::path& file, std::span<const T> values,
               std::span<const std::size_t> shape) {
  std::string content = npy::header(npy::dtype<T>(), shape);
  content.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  write_file_atomic(file, content);
}

}  // namespace skyfix
