// Sources of tensors for the tests of DINOv3: the goldens, and such sources changed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/tensor_source.h"

namespace skyfix {

// Tensors in memory.
class TensorsInMemory : public TensorSource {
 public:
  TensorsInMemory() = default;
  // All of another source's, which must live as long.
  explicit TensorsInMemory(const TensorSource& other) : metadata_(other.metadata()) {
    for (const std::string& name : other.names()) tensors_[name] = *other.find(name);
  }
  // fp32.
  void put(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
    const std::vector<float>& kept = values_.emplace_back(std::move(values));
    StoredTensor& tensor = tensors_[name];
    tensor = {name, ElementType::f32, std::move(shape), std::as_bytes(std::span(kept))};
  }
  void put_filled(const std::string& name, const std::vector<std::int64_t>& shape, float value) {
    std::size_t count = 1;
    for (const std::int64_t side : shape) count *= std::size_t(side);
    put(name, shape, std::vector<float>(count, value));
  }
  void erase(const std::string& name) { tensors_.erase(name); }
  void rename(const std::string& name, const std::string& other) {
    auto node = tensors_.extract(name);
    node.key() = other;
    node.mapped().name = other;
    tensors_.insert(std::move(node));
  }
  void set_metadata(const std::string& key, const std::string& value) { metadata_[key] = value; }

  std::string description() const override { return "tensors in memory"; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string hash() const override { return "memory"; }

 private:
  std::list<std::vector<float>> values_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

// A fixture that opens ../shared/goldens/dinov3/NAME.safetensors. What is not there skips aloud; in
// CI it fails.
class DinoV3Goldens : public ::testing::Test {
 protected:
  static std::filesystem::path folder() {
    return std::filesystem::path(SKYFIX_SHARED_DIR) / "goldens" / "dinov3";
  }
  void SetUp() override {
    if (std::filesystem::exists(folder() / "manifest.json")) return;
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string_view(ci) == "true") FAIL() << "no goldens: " << folder();
    GTEST_SKIP() << "no goldens: " << folder();
  }
  static std::shared_ptr<const TensorSource> open(const std::string& name) {
    return open_tensor_file(folder() / (name + ".safetensors"));
  }
};

}  // namespace skyfix
