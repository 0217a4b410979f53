// The goldens of DINOv3. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/tensor_source.h"
#include "skyfix/nn/testing_tensors.h"

namespace skyfix {

// To be changed; `other` must live as long.
inline std::shared_ptr<testing::MemoryTensors> copy_of(const TensorSource& other) {
  auto copy = std::make_shared<testing::MemoryTensors>();
  copy->add_all(other);
  return copy;
}

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
