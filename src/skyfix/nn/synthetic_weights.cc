#include "skyfix/nn/synthetic_weights.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "skyfix/base/parallel.h"

namespace skyfix {
namespace {

constexpr std::uint64_t kFnvOffset = 0xCBF29CE484222325, kFnvPrime = 0x100000001B3;
constexpr std::size_t kGrain = 1u << 16;

struct Spread {
  float centre = 0;
  float scale = 0;
};

// Rule 9: the variance of a normalised input is kept; final predictions are damped.
float matrix_scale(std::string_view name, std::span<const std::int64_t> shape) {
  double fan_in = 1;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) fan_in *= double(shape[axis]);
  for (const char* transposed : {"resize_layers.0.weight", "resize_layers.1.weight",
                                 "act_postprocess.0.1.weight", "act_postprocess.1.1.weight"}) {
    if (name.ends_with(transposed)) fan_in = double(shape[0]);
  }
  double damping = 1;
  if (name.ends_with("output_conv2.2.weight") || name.ends_with("dpt.head.4.weight")) damping = 0.5;
  if (name.ends_with("pose_branch.fc2.weight")) damping = 0.125;
  return static_cast<float>(std::sqrt(3.0 / fan_in) * damping);
}

// Rule 6: "cls_token", "tokens", "pos_embed", but not "mytoken".
bool is_token(std::string_view last) {
  for (const std::string_view ending : {"token", "tokens", "pos_embed"}) {
    if (!last.ends_with(ending)) continue;
    const std::string_view before = last.substr(0, last.size() - ending.size());
    if (before.empty() || before.ends_with("_")) return true;
  }
  return false;
}

Spread spread_of(std::string_view name, std::string_view last,
                 std::span<const std::int64_t> shape) {
  if (last == "gamma") return {0.125f, 0.0625f};
  if (last == "running_var") return {1, 0.125f};
  if (last == "bias" || last == "running_mean") return {0, 0x1p-5f};
  if (is_token(last)) return {0, 0.5f};
  if (shape.size() < 2) return last == "weight" ? Spread{1, 0.125f} : Spread{0, 0x1p-5f};
  return {0, matrix_scale(name, shape)};
}

// In [-1, 1), exact.
float uniform(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
}

class SyntheticTensors : public TensorSource {
 public:
  std::string description() const override { return "synthetic weights"; }
  bool synthetic() const override { return true; }
  const StoredTensor* find(std::string_view) const override { return nullptr; }
  std::vector<std::string> names() const override { return {}; }
  const std::map<std::string, std::string>& metadata() const override { return metadata_; }
  std::string hash() const override { return "synthetic"; }

 private:
  std::map<std::string, std::string> metadata_;
};

}  // namespace

std::uint64_t synthetic_key(std::string_view name) {
  std::uint64_t key = kFnvOffset;
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * kFnvPrime;
  return key;
}

bool fill_synthetic(std::string_view name, std::span<const std::int64_t> shape,
                    std::span<float> out) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last == "periods" || last == "bias_mask" || last == "num_batches_tracked") return false;
  const std::uint64_t key = synthetic_key(name);
  if (name.ends_with("pose_branch.fc2.bias") && shape.size() == 1 && shape[0] == 9) {
    // Near the identity quaternion and a field of view near 1 radian.
    constexpr std::array<float, 9> kCentres = {0, 0, 0, 0, 0, 0, 0.25f, 0.25f, 0.25f};
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = kCentres.at(i) + 0x1p-6f * uniform(key, i);
    }
    return true;
  }
  const Spread spread = spread_of(name, last, shape);
  parallel_for(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = spread.centre + spread.scale * uniform(key, i);
    }
  });
  return true;
}

std::shared_ptr<const TensorSource> make_synthetic_source() {
  return std::make_shared<SyntheticTensors>();
}

}  // namespace skyfix
