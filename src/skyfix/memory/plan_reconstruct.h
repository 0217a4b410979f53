// The plan of `skyfix reconstruct`.
#pragma once

#include <cstdint>
#include <optional>

#include "skyfix/memory/footprint_gct.h"
#include "skyfix/memory/plan.h"

namespace skyfix {

// What is not set is chosen: the best that fits, from left to right.
struct ReconstructRequest {
  std::int64_t width = 0;  // of the pictures, px, as they are shown (after EXIF orientation)
  std::int64_t height = 0;
  std::int64_t frames = 0;
  std::int64_t image_size = 518;
  std::optional<std::int64_t> window = {};  // 64, 48, 32, 24, 16
  std::int64_t num_scale_frames = 8;
  std::optional<std::int64_t> keyframe_interval = {};  // 1 up to 320 frames, then ceil(n / 320)
  std::int64_t tail_frames = 256;                      // -1 = all
  std::optional<DataType> dtype = {};                  // bf16; fp32 on the CPU
  std::optional<DataType> head_dtype = {};             // fp32, bf16
  std::optional<DataType> kv_dtype = {};               // as dtype, then smaller ones
  bool point_head = false;
  Offload offload = Offload::none;
  DeviceKind device = DeviceKind::cuda;
};

struct ReconstructPlan {
  Plan plan;
  GctInput input;
  GctSettings settings;
};

// Throws Error(bad_option) for values that no run could have. What does not fit is a value:
// plan.fits, with alternatives. A larger budget never fits less.
ReconstructPlan plan_reconstruct(const ReconstructRequest& request, const Budget& budget);

}  // namespace skyfix
