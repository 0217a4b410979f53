// A source of tensors in memory. For tests only.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "skyfix/nn/tensor_source.h"

namespace skyfix::testing {

class MemoryTensors : public TensorSource {
 public:
  template <class Number>
  void add(const std::string& name, ElementType type, const std::vector<std::int64_t>& shape,
           const std::vector<Number>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    contents_.emplace_back(bytes.begin(), bytes.end());
    tensors_[name] = {name, type, shape, contents_.back()};
  }
  void add(const std::string& name, const std::vector<std::int64_t>& shape,
           const std::vector<float>& values) {
    add(name, ElementType::f32, shape, values);
  }
  void add_filled(const std::string& name, const std::vector<std::int64_t>& shape, float value) {
    std::size_t count = 1;
    for (const std::int64_t side : shape) count *= std::size_t(side);
    add(name, shape, std::vector<float>(count, value));
  }
  // Those of another source, which must live as long.
  void add_all(const TensorSource& other) {
    for (const std::string& name : other.names()) tensors_[name] = *other.find(name);
  }
  void erase(const std::string& name) { tensors_.erase(name); }
  void rename(const std::string& name, const std::string& other) {
    auto node = tensors_.extract(name);
    node.key() = other;
    node.mapped().name = other;
    tensors_.insert(std::move(node));
  }
  void set_metadata(const std::string& key, const std::string& value) { about_[key] = value; }

  std::string description() const override { return "memory"; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  const std::map<std::string, std::string>& metadata() const override { return about_; }
  std::string hash() const override { return "hash"; }

 private:
  std::deque<std::vector<std::byte>> contents_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::map<std::string, std::string> about_{{"model", "tiny"}};
};

}  // namespace skyfix::testing
