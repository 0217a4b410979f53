#include "skyfix/base/npy.h"

#include <bit>
#include <cstring>
#include <numeric>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"

namespace skyfix {

static_assert(std::endian::native == std::endian::little, "arrays are mapped as they are");

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw Error(Reason::bad_map, "not a usable .npy file: " + what, file);
}

// The text behind "'key':" in the header dictionary, trimmed on the left.
std::string_view value_of(std::string_view dictionary, std::string_view key,
                          const std::filesystem::path& file) {
  const std::string quoted = "'" + std::string(key) + "':";
  const std::size_t at = dictionary.find(quoted);
  if (at == std::string_view::npos) fail(file, "the header has no '" + std::string(key) + "'");
  return trim(dictionary.substr(at + quoted.size()));
}

std::size_t element_size(const std::string& dtype, const std::filesystem::path& file) {
  for (const char* known : {"<f4", "<f8", "|u1", "<u4", "<u8", "<i8"}) {
    if (dtype == known) return static_cast<std::size_t>(dtype[2] - '0');
  }
  fail(file, "dtype " + dtype + " is not supported");
}

std::vector<std::size_t> parse_shape(std::string_view text, const std::filesystem::path& file) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) fail(file, "bad shape");
  std::string inside(text.substr(1, end - 1));
  for (char& c : inside) {
    if (c == ',') c = ' ';
  }
  std::vector<std::size_t> shape;
  for (const std::string_view piece : split_blanks(inside)) {
    const auto value = parse_integer(piece);
    if (!value || *value < 0) fail(file, "bad shape");
    shape.push_back(static_cast<std::size_t>(*value));
  }
  return shape;
}

}  // namespace

std::string npy::header(std::string_view dtype, std::span<const std::size_t> shape) {
  std::string sizes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    sizes += std::to_string(shape[i]);
    if (shape.size() == 1 || i + 1 < shape.size()) sizes += ", ";
  }
  if (shape.size() == 1) sizes.pop_back();
  std::string dictionary =
      "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  const std::size_t unpadded = kMagic.size() + 4 + dictionary.size() + 1;
  dictionary.append((64 - unpadded % 64) % 64, ' ');
  dictionary += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\x00';
  bytes += static_cast<char>(dictionary.size() & 255);
  bytes += static_cast<char>(dictionary.size() >> 8);
  return bytes + dictionary;
}

NpyFile::NpyFile(const std::filesystem::path& file) : file_(file) {
  const std::string_view text = file_.text();
  if (text.size() < 10 || text.substr(0, 6) != kMagic) fail(file, "the magic bytes are missing");
  const int version = text[6];
  const std::size_t prefix = version == 1 ? 10 : 12;
  if ((version != 1 && version != 2) || text.size() < prefix) fail(file, "unknown format version");
  std::uint32_t header_size = 0;
  std::memcpy(&header_size, text.data() + 8, version == 1 ? 2 : 4);
  if (header_size > text.size() - prefix) fail(file, "the header is cut off");
  const std::string_view dictionary = text.substr(prefix, header_size);

  const std::string_view descr = value_of(dictionary, "descr", file);
  if (descr.size() < 5 || descr[0] != '\'' || descr[4] != '\'') fail(file, "bad dtype");
  dtype_ = std::string(descr.substr(1, 3));
  if (value_of(dictionary, "fortran_order", file).substr(0, 5) != "False") {
    fail(file, "Fortran order is not supported");
  }
  shape_ = parse_shape(value_of(dictionary, "shape", file), file);
  data_offset_ = prefix + header_size;

  // The file's size decides, so a hostile shape cannot overflow the product.
  std::size_t left = (text.size() - data_offset_) / element_size(dtype_, file);
  bool empty = false;
  for (const std::size_t size : shape_) empty = empty || size == 0;
  if (!empty) {
    for (const std::size_t size : shape_) left /= size;
    if (left == 0) fail(file, "the data are shorter than the shape says");
  }
  if (data_offset_ % element_size(dtype_, file) != 0) fail(file, "the data are not aligned");
}

std::size_t NpyFile::row_size() const {
  if (shape_.size() < 2) return 1;
  return std::accumulate(shape_.begin() + 1, shape_.end(), std::size_t{1}, std::multiplies<>());
}

void NpyFile::require_dtype(std::string_view wanted) const {
  if (dtype_ != wanted) {
    fail(file_.path(), "it holds " + dtype_ + " where " + std::string(wanted) + " is expected");
  }
}

}  // namespace skyfix
