// Goldens of MASt3R as tensors, and their tolerances.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <string>

#include "skyfix/models/mast3r/testing.h"

namespace skyfix::mast3r {

class TensorGoldens : public Goldens {
 protected:
  static at::Tensor tensor(const TensorSource& source, const std::string& name) {
    const StoredTensor& golden = stored(source, name, ElementType::f32);
    at::Tensor copy = at::empty(golden.shape, at::kFloat);
    std::copy(golden.bytes.begin(), golden.bytes.end(), static_cast<std::byte*>(copy.data_ptr()));
    return copy;
  }

  // Within the manifest's tolerance of NAME in FILE (without ending): points by vector, confidences
  // relatively, everything else absolutely.
  void expect_golden(const at::Tensor& found, const TensorSource& goldens, const std::string& file,
                     const std::string& name) {
    SCOPED_TRACE(name);
    const at::Tensor golden = tensor(goldens, name);
    ASSERT_TRUE(found.sizes().equals(golden.sizes())) << found.sizes() << " " << golden.sizes();
    at::Tensor difference = (found - golden).abs(), allowed;
    if (name.find("pts3d") != std::string::npos) {
      difference = (found - golden).norm(2, -1);
      allowed = golden.norm(2, -1) * 2e-4 + 1e-4;
    } else if (name.find("conf") != std::string::npos) {
      allowed = golden.abs() * 2e-5 + 2e-5;
    } else {
      allowed = at::full_like(difference, tolerance(file, name));
    }
    const double share = (difference / allowed).max().item<double>();
    EXPECT_LE(share, 1);
    EXPECT_GT(golden.numel(), 0);
    worst_ = std::max(worst_, share);
  }

  // The swapped case is listed without: its descriptors have the tolerance of the unswapped ones.
  double tolerance(const std::string& file, const std::string& name) const {
    const nlohmann::json& all = manifest_.at("tolerances");
    return all.contains(file) ? all.at(file).at(name).at("atol").get<double>() : 2e-5;
  }

  // The largest share of a tolerance that was used, for --gtest_output.
  void TearDown() override { RecordProperty("worst_share_of_tolerance", std::to_string(worst_)); }

  double worst_ = 0;
};

}  // namespace skyfix::mast3r
