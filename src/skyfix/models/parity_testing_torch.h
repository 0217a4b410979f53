// For tests of networks with their real weights against stored results of the reference. What is
// not there skips aloud; in CI it fails.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/models/weights.h"
#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix::models {

inline bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

// A fixture: `open_goldens` and `open_weights` in SetUp, then `golden` and `picture`.
class ParityTest : public testing::Test {
 protected:
  // Of the folder ../shared/goldens/NAME. False when absent.
  bool open_goldens(const std::string& name) {
    const std::filesystem::path file =
        std::filesystem::path(SKYFIX_SHARED_DIR) / "goldens" / name / "cases.safetensors";
    if (std::filesystem::exists(file)) {
      goldens_ = opened({file, {}});
    } else {
      absent("there is no " + file.string());
    }
    return goldens_ != nullptr;
  }

  // Null when absent.
  std::shared_ptr<const TensorSource> weights_of(std::string_view model) {
    const auto found = find_weights(known_model(model));
    if (found) return opened(*found);
    absent("there are no weights of " + std::string(model) + "; put its file or package into " +
           "$SKYFIX_WEIGHTS");
    return nullptr;
  }

  // A copy of the stored tensor, in its type.
  at::Tensor golden(const std::string& name) const {
    const StoredTensor* stored = goldens_->find(name);
    if (stored == nullptr) throw std::runtime_error("no golden " + name);
    const at::ScalarType type = stored->type == ElementType::f32   ? at::kFloat
                                : stored->type == ElementType::i64 ? at::kLong
                                                                   : at::kByte;
    at::Tensor copy = at::empty(stored->shape, type);
    std::copy(stored->bytes.begin(), stored->bytes.end(), static_cast<std::byte*>(copy.data_ptr()));
    return copy;
  }

  std::vector<float> golden_floats(const std::string& name) const {
    const at::Tensor values = golden(name);
    const float* first = values.const_data_ptr<float>();
    return {first, first + values.numel()};
  }

 private:
  // Each file once a run: hashing and unpacking take longer than most tests.
  static std::shared_ptr<const TensorSource> opened(const FoundWeights& found) {
    static std::map<std::string, std::shared_ptr<const TensorSource>> files;
    auto& source = files[found.file.string() + ":" + found.member];
    if (source == nullptr) source = open_tensor_file(found.file, found.member);
    return source;
  }
  static void absent(const std::string& what) {
    if (in_ci()) FAIL() << what;
    GTEST_SKIP() << what;
  }
  std::shared_ptr<const TensorSource> goldens_;
};

inline PictureView picture_view(const at::Tensor& bytes) {
  return {bytes.const_data_ptr<std::uint8_t>(), int(bytes.size(1)), int(bytes.size(0)),
          int(bytes.size(2))};
}

inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  EXPECT_TRUE(a.sizes().equals(b.sizes())) << a.sizes() << " and " << b.sizes();
  if (!a.sizes().equals(b.sizes())) return 1e30;
  return a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

// Keypoints compared as sets: each wanted row's nearest row of `found` within `radius_px`.
struct SetComparison {
  int wanted = 0;
  int matched = 0;
  double position_px = 0, score = 0, descriptor = 0;  // largest differences of the matched
};
struct KeypointSet {
  at::Tensor xy;           // [n, 2]
  at::Tensor scores;       // [n]
  at::Tensor descriptors;  // [n, d], or undefined
};

inline SetComparison compare_sets(const KeypointSet& wanted, const KeypointSet& found,
                                  double radius_px) {
  const auto [distance, nearest] =
      at::cdist(wanted.xy.to(at::kDouble), found.xy.to(at::kDouble), 2, /*compute_mode=*/2).min(1);
  const at::Tensor rows = at::nonzero(distance <= radius_px).squeeze(1);
  const at::Tensor others = nearest.index_select(0, rows);
  SetComparison result;
  result.wanted = int(wanted.xy.size(0));
  result.matched = int(rows.size(0));
  const auto differ = [&](const at::Tensor& a, const at::Tensor& b) {
    return largest_difference(a.index_select(0, rows), b.index_select(0, others));
  };
  result.position_px = differ(wanted.xy, found.xy);
  result.score = differ(wanted.scores, found.scores);
  if (wanted.descriptors.defined()) {
    result.descriptor = differ(wanted.descriptors, found.descriptors);
  }
  return result;
}

}  // namespace skyfix::models
