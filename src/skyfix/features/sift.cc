#include "skyfix/features/sift.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <opencv2/core/version.hpp>
#include <opencv2/features2d.hpp>
#include <thread>
#include <tuple>

#include "skyfix/base/error.h"
#include "skyfix/base/parallel.h"
#include "skyfix/image/opencv_memory.h"

namespace skyfix {
namespace {

constexpr int kDimension = 128;
constexpr int kOctaveLayers = 3;
constexpr double kEdgeThreshold = 10;
constexpr double kSigma = 1.6;
// Below this side there is no room for the detector's window and its margins.
constexpr int kMinSide = 16;
// OpenCV doubles the image about pixel corners but halves coordinates about pixel centres, so its
// keypoints lie a quarter of a pixel too far right and down. COLMAP's origin is half a pixel before
// OpenCV's.
constexpr float kColmapFromOpencv = 0.5f - 0.25f;

Keypoint from_opencv(const cv::KeyPoint& found) {
  Keypoint keypoint;
  keypoint.x = found.pt.x + kColmapFromOpencv;
  keypoint.y = found.pt.y + kColmapFromOpencv;
  keypoint.scale = found.size / 2;  // OpenCV gives the diameter
  keypoint.angle_rad = found.angle * std::numbers::pi_v<float> / 180;
  keypoint.response = found.response;
  return keypoint;
}

bool stronger(const Keypoint& a, const Keypoint& b) {
  const auto key = [](const Keypoint& k) {
    return std::tuple(-k.response, k.y, k.x, k.scale, k.angle_rad);
  };
  return key(a) < key(b);
}

// Square roots of the L1-normalised entries: a unit row. False when the row is all zero.
bool root_sift(const float* row, float* unit) {
  const float sum = std::accumulate(row, row + kDimension, 0.0f);
  if (!(sum > 0)) return false;
  for (int i = 0; i < kDimension; ++i) unit[i] = std::sqrt(row[i] / sum);
  return true;
}

class Sift : public LocalFeatures {
 public:
  explicit Sift(const FeatureOptions& options) : options_(options) {}

  std::string_view kind() const override { return "sift"; }
  int dimension() const override { return kDimension; }
  std::string signature() const override {
    return fmt::format("rootsift opencv={} max_features={} contrast={}", CV_VERSION,
                       options_.max_features, options_.contrast_threshold);
  }
  FeatureSet extract(const Image& image) const override;

 private:
  FeatureOptions options_;
};

FeatureSet Sift::extract(const Image& image) const {
  assert(image.channels == 1);
  FeatureSet features;
  features.dimension = kDimension;
  if (image.width < kMinSide || image.height < kMinSide) return features;

  // OpenCV only reads the pixels.
  const cv::Mat pixels(image.height, image.width, CV_8UC1,
                       const_cast<std::uint8_t*>(image.pixels.data()));
  // One detector for each call: OpenCV does not promise that one can be shared by threads. It keeps
  // all features as strong as the weakest wanted one; the surplus is cut off below.
  std::vector<cv::KeyPoint> found;
  cv::Mat descriptors;
  call_opencv([&] {
    cv::SIFT::create(options_.max_features, kOctaveLayers, options_.contrast_threshold,
                     kEdgeThreshold, kSigma)
        ->detectAndCompute(pixels, cv::noArray(), found, descriptors);
  });

  std::vector<Keypoint> keypoints(found.size());
  std::transform(found.begin(), found.end(), keypoints.begin(), from_opencv);
  std::vector<std::size_t> order(found.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return stronger(keypoints[a], keypoints[b]); });

  const std::size_t limit =
      options_.max_features == 0 ? order.size() : std::size_t(options_.max_features);
  std::vector<float> unit(kDimension);
  for (const std::size_t i : order) {
    if (features.keypoints.size() >= limit) break;
    if (!root_sift(descriptors.ptr<float>(int(i)), unit.data())) continue;
    features.keypoints.push_back(keypoints[i]);
    features.descriptors.insert(features.descriptors.end(), unit.begin(), unit.end());
  }
  return features;
}

}  // namespace

std::unique_ptr<LocalFeatures> make_sift(const FeatureOptions& options) {
  if (options.max_features < 0) {
    throw Error(Reason::bad_option, "the number of features cannot be negative; give 0 for all");
  }
  if (!(options.contrast_threshold >= 0) || !std::isfinite(options.contrast_threshold)) {
    throw Error(Reason::bad_option,
                "the contrast threshold must be 0 or more; 0.01 to 0.04 is usual");
  }
  // More threads than cores make OpenCV's scheduler complain on standard error.
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  cv::setNumThreads(int(std::min(thread_count(), cores)));
  return std::make_unique<Sift>(options);
}

}  // namespace skyfix
