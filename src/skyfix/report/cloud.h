// The point cloud of a reconstruction, made as frames come: confident pixels, unprojected, one
// point a voxel (specification: gctstream.md sections 9 and 12). Memory is bounded by the number of
// points, not by the frames.
//
// A pixel gives a point when its confidence is above the threshold, its depth is finite and above
// 1e-8, it is not sky, and it shows the source's picture (not padding). Of these, in row order,
// every n-th is taken. The first point that falls into a voxel stays, later ones are left out.
// When there are more points than `max_points` after a frame, the voxels' side is doubled, the
// first point of each new voxel stays, until there are not.
#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "skyfix/stream/stream_frame.h"

namespace skyfix {

struct CloudOptions {
  double confidence_threshold = 1.5;  // strictly above; the network's confidences begin at 1
  std::int64_t every = 1;             // of the pixels that pass, within each frame
  // Side of a voxel, the stream's unit. 0 = 0.005 x the median depth of the pixels that pass in the
  // first frame that has any: about two pixels' width there.
  double voxel = 0;
  std::int64_t max_points = 10'000'000;  // at least 1000
  // Throws Error(bad_option) naming the option as typed.
  void validate() const;
};

// 20 bytes and the frame: as in cloud.ply.
struct CloudPoint {
  Eigen::Vector3f xyz;  // world, less the cloud's offset; the stream's unit
  std::array<std::uint8_t, 3> rgb{};
  float confidence = 0;
  std::uint32_t frame = 0;  // StreamFrame::index
};

// Pixel (u, v) of the network's picture at `depth`: integer pixels, no half-pixel shift.
Eigen::Vector3d unproject_network_pixel(const Camera& network_camera, int u, int v, double depth);

// The pixels of an ok frame that pass, as points in the world less `offset`, in row order, with
// `every` applied. `median_depth`: of all that pass before `every`, the lower of two middle values.
struct FramePoints {
  std::vector<CloudPoint> points;
  std::optional<double> median_depth;  // none passed
};
FramePoints frame_points(const StreamFrame& frame, const CloudOptions& options,
                         const Eigen::Vector3d& offset);

// Voxel indices that are taken: open addressing, 12 bytes a slot.
class VoxelSet {
 public:
  // Whether the voxel was free; it is taken now.
  bool insert(const std::array<std::int32_t, 3>& voxel);
  std::size_t size() const { return size_; }
  void clear();

 private:
  void grow();
  std::vector<std::array<std::int32_t, 3>> slots_;
  std::size_t size_ = 0;
};

// The voxel of a point: floor(x / side). nullopt beyond 2^31 voxels of the offset.
std::optional<std::array<std::int32_t, 3>> voxel_of(const Eigen::Vector3f& xyz, double side);

// Decides which points stay; where they are kept is the caller's business (cloud_file.h).
class CloudThinning {
 public:
  explicit CloudThinning(const CloudOptions& options) : options_(options) {}

  // 0 until it is known.
  double voxel() const { return voxel_; }
  // Forgets what was taken: give the points again, in order, to keep() or remember().
  void set_voxel(double voxel);

  // The points that are the first of their voxels, in order; those voxels are then taken. The
  // first frame with any decides an automatic voxel. Points beyond the grid are left out.
  std::vector<CloudPoint> take(const FramePoints& frame);
  // The same for points that stay already: to rebuild what was known.
  void remember(std::span<const CloudPoint> points);

  std::size_t points() const { return taken_.size(); }
  bool over_cap() const { return points() > static_cast<std::size_t>(options_.max_points); }
  // Whether the point is the first of its voxel, which is then taken.
  bool keep(const CloudPoint& point);

 private:
  CloudOptions options_;
  double voxel_ = 0;
  VoxelSet taken_;
};

}  // namespace skyfix
