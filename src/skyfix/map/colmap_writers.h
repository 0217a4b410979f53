// The contents of a model's files, by format: what write_colmap puts on disk.
#pragma once

#include <span>
#include <string>

#include "skyfix/map/colmap_records.h"

namespace skyfix::colmap_io {

struct FileContent {
  const char* stem;  // "cameras"
  std::string (*content)(const ColmapModel& model);
};

// In order: cameras, images, points3D, rigs, frames.
std::span<const FileContent> binary_contents();
std::span<const FileContent> text_contents();

// In the files' order: w x y z, translation.
inline PoseNumbers pose_numbers(const Rigid3& pose) {
  const auto& q = pose.rotation;
  const auto& t = pose.translation;
  return {q.w(), q.x(), q.y(), q.z(), t.x(), t.y(), t.z()};
}

}  // namespace skyfix::colmap_io
