// Goldens of the GCT for its tests: those in tests/data, the others from ../shared. What is not
// there skips aloud; in CI it fails.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "skyfix/nn/element_torch.h"
#include "skyfix/nn/tensor_file.h"

namespace skyfix::gct {

// Of the tiny runs and of the full one: |a - b| <= t + t |b|.
inline constexpr double kUnitTolerance = 2e-6, kTinyTolerance = 1e-5, kFullTolerance = 2e-5;

// Where the file of that name lies; empty when it is nowhere.
inline std::filesystem::path golden_file(const std::string& name) {
  for (const std::filesystem::path folder :
       {SKYFIX_SOURCE_DIR "/tests/data/gctstream", SKYFIX_SHARED_DIR "/goldens/gctstream"}) {
    const std::filesystem::path file = folder / (name + ".safetensors");
    if (std::filesystem::exists(file)) return file;
  }
  return {};
}

// The stored tensor, a copy in its type.
inline at::Tensor stored_tensor(const TensorSource& source, const std::string& name) {
  const StoredTensor* stored = source.find(name);
  if (stored == nullptr) throw std::runtime_error("no golden " + name);
  return nn::copy_of(*stored);
}

// A fixture. `open` before anything else; false: the test is skipped or has failed.
class Goldens : public ::testing::Test {
 protected:
  bool open(const std::string& name, double tolerance = kTinyTolerance) {
    const std::filesystem::path file = golden_file(name);
    tolerance_ = tolerance;
    source_ = file.empty() ? nullptr : open_tensor_file(file);
    if (source_ == nullptr) absent(name);
    return source_ != nullptr;
  }

  bool has(const std::string& name) const { return source_->find(name) != nullptr; }
  at::Tensor golden(const std::string& name) const { return stored_tensor(*source_, name); }

  // Frames as the network takes them, fp32 [frames, 3, H, W] in 0..1.
  static at::Tensor images(const TensorSource& source, std::int64_t frames) {
    return stored_tensor(source, "images_u8").narrow(0, 0, frames).to(at::kFloat) / 255;
  }
  static at::Tensor tiny_images(std::int64_t frames) {
    return images(*open_tensor_file(golden_file("tiny_images")), frames);
  }

  // Within the tolerance of golden `name`, whose shape may have a batch of one in front.
  void expect_golden(const at::Tensor& found, const std::string& name) {
    SCOPED_TRACE(name);
    const at::Tensor wanted = golden(name);
    ASSERT_EQ(found.numel(), wanted.numel()) << found.sizes() << " " << wanted.sizes();
    ASSERT_GT(wanted.numel(), 0);
    const at::Tensor difference = (found.reshape(wanted.sizes()) - wanted).abs();
    const double share =
        (difference / (wanted.abs() * tolerance_ + tolerance_)).max().item<double>();
    EXPECT_LE(share, 1) << "largest difference " << difference.max().item<double>();
    worst_ = std::max(worst_, share);
  }

  // The largest share of a tolerance that was used, for --gtest_output.
  void TearDown() override { RecordProperty("worst_share_of_tolerance", std::to_string(worst_)); }

 private:
  static void absent(const std::string& name) {
    const char* ci = std::getenv("CI");
    if (ci != nullptr && std::string_view(ci) == "true") FAIL() << "no goldens: " << name;
    GTEST_SKIP() << "no goldens: " << name;
  }

  std::shared_ptr<const TensorSource> source_;
  double tolerance_ = kTinyTolerance;
  double worst_ = 0;
};

}  // namespace skyfix::gct
