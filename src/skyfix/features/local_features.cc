#include "skyfix/features/local_features.h"

#include <array>
#include <cmath>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/features/sift.h"

namespace skyfix {
namespace {

// Shrinks large pictures before another extractor sees them.
class ShrinkingFeatures : public LocalFeatures {
 public:
  ShrinkingFeatures(std::unique_ptr<LocalFeatures> inner, int max_long_side_px)
      : inner_(std::move(inner)), max_long_side_px_(max_long_side_px) {}

  std::string_view kind() const override { return inner_->kind(); }
  int dimension() const override { return inner_->dimension(); }
  std::string signature() const override {
    return inner_->signature() + " max_long_side_px=" + std::to_string(max_long_side_px_);
  }
  FeatureSet extract(const Image& image) const override {
    const Image small = shrink_to(image, max_long_side_px_);
    FeatureSet features = inner_->extract(small);
    const float scale_x = float(image.width) / float(small.width);
    const float scale_y = float(image.height) / float(small.height);
    for (Keypoint& keypoint : features.keypoints) {
      keypoint.x *= scale_x;
      keypoint.y *= scale_y;
      keypoint.scale *= std::sqrt(scale_x * scale_y);
    }
    return features;
  }

 private:
  std::unique_ptr<LocalFeatures> inner_;
  int max_long_side_px_;
};

using Maker = std::unique_ptr<LocalFeatures> (*)(const FeatureOptions&);
constexpr std::array<std::pair<std::string_view, Maker>, 1> kMakers{{{"sift", make_sift}}};

}  // namespace

std::vector<std::string> local_feature_kinds() {
  std::vector<std::string> kinds;
  for (const auto& [kind, maker] : kMakers) kinds.emplace_back(kind);
  return kinds;
}

std::unique_ptr<LocalFeatures> make_local_features(std::string_view kind,
                                                   const FeatureOptions& options) {
  if (options.max_long_side_px < 0) {
    throw Error(Reason::bad_option, "the longest side cannot be negative; give 0 for full size");
  }
  for (const auto& [name, maker] : kMakers) {
    if (name != kind) continue;
    if (options.max_long_side_px == 0) return maker(options);
    return std::make_unique<ShrinkingFeatures>(maker(options), options.max_long_side_px);
  }
  const std::vector<std::string> kinds = local_feature_kinds();
  std::string message = "there are no local features called '" + std::string(kind) + "'";
  if (const auto nearest = nearest_name(kind, kinds)) message += "; did you mean " + *nearest + "?";
  message += " (there is:";
  for (const std::string& name : kinds) message += " " + name;
  throw Error(Reason::bad_option, message + ")");
}

}  // namespace skyfix
