// Reads the reference tensors that tests compare with: the safetensors format, an 8-byte length,
// a JSON object of names, types, shapes and offsets, then the data, little endian. For tests only:
// the files are trusted.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "skyfix/base/file.h"

namespace skyfix {

class ReferenceTensors {
 public:
  explicit ReferenceTensors(const std::filesystem::path& file) : content_(read_file(file)) {
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, content_.data(), sizeof header_bytes);
    index_ = nlohmann::json::parse(std::string_view(content_).substr(8, header_bytes));
    data_begin_ = 8 + header_bytes;
  }

  std::vector<std::size_t> shape(const std::string& name) const {
    return index_.at(name).at("shape").get<std::vector<std::size_t>>();
  }

  // The elements of a tensor: float (F32) or std::int64_t (I64). Throws std::runtime_error when the
  // tensor has another type.
  template <class T>
  std::vector<T> values(const std::string& name) const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int64_t>);
    const auto& entry = index_.at(name);
    if (entry.at("dtype") != (std::is_same_v<T, float> ? "F32" : "I64")) {
      throw std::runtime_error(name + " has another type");
    }
    const std::size_t begin = entry.at("data_offsets").at(0), end = entry.at("data_offsets").at(1);
    std::vector<T> result((end - begin) / sizeof(T));
    std::memcpy(result.data(), content_.data() + data_begin_ + begin, end - begin);
    return result;
  }

 private:
  std::string content_;
  nlohmann::json index_;
  std::size_t data_begin_ = 0;
};

}  // namespace skyfix
