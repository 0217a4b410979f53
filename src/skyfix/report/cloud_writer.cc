#include <algorithm>
#include <cmath>

#include "skyfix/report/cloud_file.h"

namespace skyfix {
namespace {

using TakePoints = std::function<void(std::span<const CloudPoint>)>;

// However large voxels are, eight of them meet at the offset.
constexpr std::int64_t kFewestCells = 8;

// The first doubling of `voxel` with which the points that `read` gives are within the cap.
double voxel_within_cap(const CloudOptions& options, double voxel,
                        const std::function<void(const TakePoints&)>& read) {
  CloudThinning thinning(options);
  do {
    voxel *= 2;
    thinning.set_voxel(voxel);
    read([&](std::span<const CloudPoint> points) { thinning.remember(points); });
  } while (thinning.over_cap());
  return voxel;
}

}  // namespace

CloudWriter::CloudWriter(const std::filesystem::path& file, const CloudOptions& options)
    : options_(options), file_(file, options.confidence_threshold, false), thinning_(options) {}

CloudWriter::CloudWriter(const std::filesystem::path& file, const CloudOptions& options,
                         std::int64_t last_frame)
    : options_(options), file_(file, options.confidence_threshold, true), thinning_(options) {
  // Points stand in order of their frames.
  std::uint64_t kept = 0;
  file_.read([&](std::span<const CloudPoint> points) {
    kept += static_cast<std::uint64_t>(
        std::count_if(points.begin(), points.end(),
                      [&](const CloudPoint& point) { return point.frame <= last_frame; }));
  });
  file_.truncate(kept);
  rebuild();
  settle();
}

void CloudWriter::count(const CloudPoint& point) {
  if (by_frame_.empty() || by_frame_.back().first != point.frame) {
    by_frame_.emplace_back(point.frame, 0);
  }
  ++by_frame_.back().second;
}

void CloudWriter::rebuild() {
  thinning_.set_voxel(file_.header().voxel);
  by_frame_.clear();
  file_.read([&](std::span<const CloudPoint> points) {
    thinning_.remember(points);
    for (const CloudPoint& point : points) count(point);
  });
  before_ = file_.header().points;
}

void CloudWriter::add(const StreamFrame& frame) {
  before_ = file_.header().points;
  // Floats near the scene keep their digits: the first camera that gives points, in whole units.
  Eigen::Vector3d offset = file_.header().offset;
  if (before_ == 0) offset = frame.view.cam_from_world.centre().array().round() + 0.0;
  const std::vector<CloudPoint> kept = thinning_.take(frame_points(frame, options_, offset));
  if (kept.empty()) {
    if (before_ == 0) thinning_.set_voxel(0);
    return;
  }
  try {
    file_.append(kept, offset, thinning_.voxel());
  } catch (...) {
    rebuild();
    throw;
  }
  for (const CloudPoint& point : kept) count(point);
}

void CloudWriter::undo() {
  file_.truncate(before_);
  rebuild();
}

void CloudWriter::settle() {
  if (!thinning_.over_cap()) return;
  thinning_.set_voxel(0);  // its memory is wanted
  const double voxel = voxel_within_cap(options_, file_.header().voxel,
                                        [&](const TakePoints& take) { file_.read(take); });
  CloudThinning coarser(options_);
  coarser.set_voxel(voxel);
  file_.rewrite(voxel, [&](const CloudPoint& point) { return coarser.keep(point); });
  rebuild();
}

std::vector<CloudPoint> thinned_cloud(const std::filesystem::path& file, std::int64_t most) {
  const CloudHeader header = read_cloud(file);
  std::vector<CloudPoint> kept;
  if (header.points == 0 || most <= 0) return kept;
  CloudOptions options;
  options.max_points = std::max<std::int64_t>(most, kFewestCells);
  CloudThinning thinning(options);
  thinning.set_voxel(static_cast<std::int64_t>(header.points) <= most
                         ? header.voxel
                         : voxel_within_cap(options, header.voxel, [&](const TakePoints& take) {
                             read_cloud(file, take);
                           }));
  read_cloud(file, [&](std::span<const CloudPoint> points) {
    for (const CloudPoint& point : points) {
      if (thinning.keep(point)) kept.push_back(point);
    }
  });
  return kept;
}

}  // namespace skyfix
