#include "skyfix/report/cloud.h"

#include <algorithm>
#include <cmath>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr double kValidDepth = 1e-8;
constexpr double kVoxelOfMedianDepth = 0.005;
constexpr std::int64_t kFewestPoints = 1000;
constexpr std::size_t kFirstSlots = 1024;

using Voxel = std::array<std::int32_t, 3>;
constexpr std::int32_t kFree = std::numeric_limits<std::int32_t>::min();

// Mixes three indices (constants of SplitMix64, Steele et al. 2014).
std::uint64_t hash_of(const Voxel& voxel) {
  std::uint64_t hash = 0;
  for (const std::int32_t index : voxel) {
    hash ^= static_cast<std::uint32_t>(index);
    hash += 0x9E3779B97F4A7C15ULL;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
    hash ^= hash >> 31;
  }
  return hash;
}

// Whether network pixel (u, v) shows the source's picture.
bool in_picture(const GctFrameMap& map, int u, int v) {
  const double x = (u + 0.5 + map.offset_x) / map.scale_x;
  const double y = (v + 0.5 + map.offset_y) / map.scale_y;
  return x >= 0 && y >= 0 && x < map.source_width && y < map.source_height;
}

bool passes(const StreamFrame& frame, std::size_t pixel, double threshold) {
  const StreamPrediction& prediction = frame.prediction;
  if (pixel < frame.sky.size() && frame.sky[pixel] != 0) return false;
  const float depth = prediction.depth[pixel];
  return prediction.confidence[pixel] > threshold && std::isfinite(depth) && depth > kValidDepth;
}

}  // namespace

void CloudOptions::validate() const {
  if (!std::isfinite(confidence_threshold)) {
    throw Error(Reason::bad_option, "--conf-threshold must be a number");
  }
  if (every < 1) throw Error(Reason::bad_option, "--downsample-factor must be at least 1");
  if (!(voxel >= 0) || !std::isfinite(voxel)) {
    throw Error(Reason::bad_option, "--voxel must be a length, or 0 for automatic");
  }
  if (max_points < kFewestPoints) {
    throw Error(Reason::bad_option, "--max-points must be at least 1000");
  }
}

Eigen::Vector3d unproject_network_pixel(const Camera& network_camera, int u, int v, double depth) {
  const Eigen::Vector2d principal = network_camera.principal_point();
  return {(u - principal.x()) * depth / network_camera.focal_x(),
          (v - principal.y()) * depth / network_camera.focal_y(), depth};
}

FramePoints frame_points(const StreamFrame& frame, const CloudOptions& options,
                         const Eigen::Vector3d& offset) {
  FramePoints result;
  const StreamPrediction& prediction = frame.prediction;
  const Rigid3 world_from_cam = frame.view.cam_from_world.inverse();
  const Eigen::Matrix3d turn = world_from_cam.rotation.toRotationMatrix();
  std::vector<float> depths;
  for (int v = 0; v < prediction.height; ++v) {
    for (int u = 0; u < prediction.width; ++u) {
      const std::size_t pixel = std::size_t(v) * prediction.width + u;
      if (!passes(frame, pixel, options.confidence_threshold)) continue;
      if (!in_picture(frame.map, u, v)) continue;
      const double depth = prediction.depth[pixel];
      const auto number = static_cast<std::int64_t>(depths.size());
      depths.push_back(prediction.depth[pixel]);
      if (number % options.every != 0) continue;
      const Eigen::Vector3d camera =
          unproject_network_pixel(frame.view.network_camera, u, v, depth);
      CloudPoint point;
      point.xyz = (turn * camera + world_from_cam.translation - offset).cast<float>();
      for (int c = 0; c < 3; ++c) point.rgb[c] = frame.picture.pixels[pixel * 3 + c];
      point.confidence = prediction.confidence[pixel];
      point.frame = static_cast<std::uint32_t>(frame.index);
      result.points.push_back(point);
    }
  }
  if (depths.empty()) return result;
  const auto middle = depths.begin() + static_cast<std::ptrdiff_t>((depths.size() - 1) / 2);
  std::nth_element(depths.begin(), middle, depths.end());
  result.median_depth = *middle;
  return result;
}

std::optional<Voxel> voxel_of(const Eigen::Vector3f& xyz, double side) {
  Voxel voxel;
  for (int axis = 0; axis < 3; ++axis) {
    const double index = std::floor(static_cast<double>(xyz[axis]) / side);
    // The lowest index marks free slots.
    if (!(index > kFree && index <= std::numeric_limits<std::int32_t>::max())) return std::nullopt;
    voxel[axis] = static_cast<std::int32_t>(index);
  }
  return voxel;
}

bool VoxelSet::insert(const Voxel& voxel) {
  // At most two thirds full.
  if (size_ * 3 >= slots_.size() * 2) grow();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash_of(voxel) & mask;; slot = (slot + 1) & mask) {
    if (slots_[slot][0] == kFree) {
      slots_[slot] = voxel;
      ++size_;
      return true;
    }
    if (slots_[slot] == voxel) return false;
  }
}

void VoxelSet::clear() {
  slots_.clear();
  size_ = 0;
}

void VoxelSet::grow() {
  std::vector<Voxel> old(std::max(kFirstSlots, slots_.size() * 2), Voxel{kFree, 0, 0});
  old.swap(slots_);
  size_ = 0;
  for (const Voxel& voxel : old) {
    if (voxel[0] != kFree) insert(voxel);
  }
}

void CloudThinning::set_voxel(double voxel) {
  voxel_ = voxel;
  taken_.clear();
}

std::vector<CloudPoint> CloudThinning::take(const FramePoints& frame) {
  if (voxel_ == 0) {
    if (!frame.median_depth) return {};
    voxel_ = options_.voxel > 0 ? options_.voxel : kVoxelOfMedianDepth * *frame.median_depth;
  }
  std::vector<CloudPoint> kept;
  for (const CloudPoint& point : frame.points) {
    if (keep(point)) kept.push_back(point);
  }
  return kept;
}

void CloudThinning::remember(std::span<const CloudPoint> points) {
  for (const CloudPoint& point : points) keep(point);
}

bool CloudThinning::keep(const CloudPoint& point) {
  const auto voxel = voxel_of(point.xyz, voxel_);
  return voxel && taken_.insert(*voxel);
}

}  // namespace skyfix
