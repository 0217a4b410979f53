// For tests: random descriptors, every kernel of this machine, and the golden tensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "skyfix/base/file.h"
#include "skyfix/match/mutual_nearest.h"

namespace skyfix::testing {

// Rows that own their numbers.
struct Descriptors {
  std::vector<float> values;
  std::int64_t rows = 0;
  int dimension = 0;

  Descriptors() = default;
  Descriptors(std::int64_t n, int d) : values(n * d), rows(n), dimension(d) {}
  float* row(std::int64_t i) { return values.data() + i * dimension; }
  DescriptorView view() const { return {values.data(), rows, dimension}; }
};

inline Descriptors normal_rows(std::int64_t n, int d, std::mt19937& random) {
  std::normal_distribution<float> normal;
  Descriptors result(n, d);
  for (float& value : result.values) value = normal(random);
  return result;
}

// Entries are integers in [-limit, limit]: every product is exact in any order, ties are frequent.
inline Descriptors integer_rows(std::int64_t n, int d, int limit, std::mt19937& random) {
  std::uniform_int_distribution<int> pick(-limit, limit);
  Descriptors result(n, d);
  for (float& value : result.values) value = static_cast<float>(pick(random));
  return result;
}

// The kernels that this processor can run.
inline std::vector<Simd> available_simds() {
  std::vector<Simd> result;
  for (const Simd simd : {Simd::scalar, Simd::avx2, Simd::avx512}) {
    if (simd <= best_simd()) result.push_back(simd);
  }
  return result;
}

// Reads tensors of a safetensors file (8 bytes of header length, JSON header, data; little-endian).
class Safetensors {
 public:
  explicit Safetensors(const std::filesystem::path& file) : bytes_(read_file(file)) {
    std::uint64_t length = 0;
    if (bytes_.size() < sizeof(length)) throw std::runtime_error("safetensors: too short");
    std::memcpy(&length, bytes_.data(), sizeof(length));
    if (length > bytes_.size() - sizeof(length)) throw std::runtime_error("safetensors: cut off");
    data_ = sizeof(length) + length;
    header_ = nlohmann::json::parse(bytes_.substr(sizeof(length), length));
  }

  bool contains(const std::string& name) const { return header_.contains(name); }

  // The tensor's numbers; T must be its stored type.
  template <class T>
  std::vector<T> read(const std::string& name) const {
    const nlohmann::json& entry = header_.at(name);
    const std::string wanted = std::is_same_v<T, float> ? "F32" : "I64";
    if (entry.at("dtype") != wanted) throw std::runtime_error(name + ": not " + wanted);
    const std::size_t begin = entry.at("data_offsets").at(0);
    const std::size_t end = entry.at("data_offsets").at(1);
    if (begin > end || end > bytes_.size() - data_) throw std::runtime_error(name + ": cut off");
    std::vector<T> values((end - begin) / sizeof(T));
    if (!values.empty()) {
      std::memcpy(values.data(), bytes_.data() + data_ + begin, values.size() * sizeof(T));
    }
    return values;
  }

  Descriptors read_rows(const std::string& name) const {
    Descriptors result;
    const nlohmann::json& shape = header_.at(name).at("shape");
    result.rows = shape.at(0);
    result.dimension = shape.at(1);
    result.values = read<float>(name);
    return result;
  }

 private:
  std::string bytes_;
  std::size_t data_ = 0;
  nlohmann::json header_;
};

}  // namespace skyfix::testing
