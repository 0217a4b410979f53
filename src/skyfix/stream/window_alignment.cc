#include "skyfix/stream/window_alignment.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "skyfix/stream/gct_pose.h"

namespace skyfix {
namespace {

bool remembered(const StreamPrediction& prediction) {
  return prediction.role != FrameRole::non_keyframe;
}

// The pixels' ratios of one frame are appended.
void add_ratios(const StreamPrediction& before, const StreamPrediction& now,
                std::vector<float>& ratios) {
  assert(before.depth.size() == now.depth.size());
  for (std::size_t i = 0; i < now.depth.size(); ++i) {
    const float a = before.depth[i], b = now.depth[i];
    if (std::isfinite(a) && std::isfinite(b) &&
        std::abs(b) > std::numeric_limits<float>::epsilon()) {
      ratios.push_back(a / b);
    }
  }
}

template <class Value>
Value lower_median(std::vector<Value>& values) {
  const auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What is left between the two after the alignment.
void add_residuals(std::span<const StreamPrediction> before, std::span<const StreamPrediction> now,
                   const WindowTransform& transform, WindowAlignment& alignment) {
  double squares = 0;
  std::vector<float> ratios;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Eigen::Vector3d centre =
        transform.scale * (transform.rotation * gct_centre(now[i].pose)) + transform.translation;
    squares += (centre - gct_centre(before[i].pose)).squaredNorm();
    add_ratios(before[i], now[i], ratios);
  }
  alignment.centre_residual = std::sqrt(squares / static_cast<double>(now.size()));
  if (ratios.empty()) return;
  for (float& ratio : ratios) ratio = std::abs(ratio / static_cast<float>(transform.scale) - 1);
  alignment.depth_residual = lower_median(ratios);
}

}  // namespace

double depth_ratio(std::span<const StreamPrediction* const> before,
                   std::span<const StreamPrediction* const> now, std::int64_t* samples) {
  std::vector<float> ratios;
  for (std::size_t i = 0; i < now.size(); ++i) add_ratios(*before[i], *now[i], ratios);
  if (samples != nullptr) *samples = std::ssize(ratios);
  if (ratios.empty()) return 1;
  return std::clamp<double>(lower_median(ratios), 1e-3, 1e3);
}

WindowAlignment align_window(std::span<const StreamPrediction> before,
                             std::span<const StreamPrediction> now, WindowTransform& transform) {
  assert(before.size() == now.size());
  transform = {};
  WindowAlignment alignment;
  if (!now.empty()) {
    std::vector<const StreamPrediction*> a, b;
    std::size_t anchor = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!remembered(before[i]) || !remembered(now[i])) continue;
      anchor = i;
      a.push_back(&before[i]);
      b.push_back(&now[i]);
    }
    if (a.empty()) {
      a.push_back(&before[0]);
      b.push_back(&now[0]);
    }
    transform.scale = depth_ratio(a, b, &alignment.depth_samples);
    transform.rotation =
        gct_rotation(before[anchor].pose) * gct_rotation(now[anchor].pose).transpose();
    transform.translation = gct_centre(before[anchor].pose) -
                            transform.scale * (transform.rotation * gct_centre(now[anchor].pose));
    alignment.anchor_frame = now[anchor].position;
    add_residuals(before, now, transform, alignment);
  }
  alignment.scale = transform.scale;
  Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> matrix(
      alignment.world_from_window.data());
  matrix.setIdentity();
  matrix.topLeftCorner<3, 3>() = transform.rotation;
  matrix.topRightCorner<3, 1>() = transform.translation;
  return alignment;
}

void apply(const WindowTransform& transform, StreamPrediction& prediction) {
  const Eigen::Vector3d centre =
      transform.scale * (transform.rotation * gct_centre(prediction.pose)) + transform.translation;
  const auto quaternion = gct_quaternion(transform.rotation * gct_rotation(prediction.pose));
  std::copy_n(centre.data(), 3, prediction.pose.begin());
  std::copy(quaternion.begin(), quaternion.end(), prediction.pose.begin() + 3);
  const auto scale = static_cast<float>(transform.scale);
  for (float& depth : prediction.depth) depth *= scale;
  for (std::size_t i = 0; i + 2 < prediction.points.size(); i += 3) {
    Eigen::Map<Eigen::Vector3f> point(prediction.points.data() + i);
    point = (transform.scale * (transform.rotation * point.cast<double>()) + transform.translation)
                .cast<float>();
  }
}

}  // namespace skyfix
