// The goldens of the streaming model, for tests of this room: tests/data first, else ../shared.
// What is not there skips aloud; in CI it fails.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/nn/tensor_file.h"

namespace skyfix::testing {

class StreamGoldens : public ::testing::Test {
 protected:
  // False: the test is skipped or has failed.
  bool open(const std::string& name) {
    for (const std::filesystem::path folder :
         {SKYFIX_SOURCE_DIR "/tests/data/gctstream", SKYFIX_SHARED_DIR "/goldens/gctstream"}) {
      const auto file = folder / (name + ".safetensors");
      if (!std::filesystem::exists(file)) continue;
      source_ = open_tensor_file(file);
      return true;
    }
    absent(name);
    return false;
  }

  bool has(const std::string& name) const { return source_->find(name) != nullptr; }
  std::vector<std::int64_t> shape(const std::string& name) const { return stored(name).shape; }
  std::span<const std::uint8_t> bytes(const std::string& name) const {
    const auto& tensor = stored(name);
    return {reinterpret_cast<const std::uint8_t*>(tensor.bytes.data()), tensor.bytes.size()};
  }
  std::vector<float> values(const std::string& name) const {
    const auto& tensor = stored(name);
    std::vector<float> values(tensor.elements());
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    return values;
  }

  // |a - b| <= t + t |b| for every element.
  static void expect_close(std::span<const float> found, std::span<const float> wanted, double t,
                           const std::string& what) {
    ASSERT_EQ(found.size(), wanted.size()) << what;
    ASSERT_FALSE(wanted.empty()) << what;
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double off = std::abs(double(found[i]) - wanted[i]) / (t + t * std::abs(wanted[i]));
      worst = std::isnan(off) ? INFINITY : std::max(worst, off);
    }
    EXPECT_LE(worst, 1) << what;
  }

 private:
  const StoredTensor& stored(const std::string& name) const {
    const StoredTensor* tensor = source_->find(name);
    if (tensor == nullptr) throw std::runtime_error("no golden " + name);
    return *tensor;
  }
  static void absent(const std::string& name) {
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string_view(ci) == "true") FAIL() << "no goldens: " << name;
    GTEST_SKIP() << "SKIPPED: no goldens: " << name;
  }

  std::shared_ptr<const TensorSource> source_;
};

}  // namespace skyfix::testing
