// The plan of `skyfix localize`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skyfix/memory/footprint_features.h"
#include "skyfix/memory/footprint_gct.h"
#include "skyfix/memory/plan.h"

namespace skyfix {

// What is not set is chosen: the best that fits, from left to right.
struct LocalizeRequest {
  std::int64_t width = 0;  // of the photos, px
  std::int64_t height = 0;
  std::int64_t frames = 0;  // nothing grows with it
  FeatureKind features = FeatureKind::sift;
  std::string retrieval = "vlad";                         // or a name of footprint_dinov3.h
  std::int64_t retrieval_size = 512;                      // long side, px
  std::optional<std::int64_t> image_size = {};            // long side for the features, px; by kind
  std::optional<std::int64_t> max_features = {};          // query rows; by kind
  std::int64_t reference_rows = 5000;                     // descriptors of a map image, at most
  std::int64_t references = 15;                           // map images that a frame is matched with
  std::optional<std::int64_t> ref_cache_max_frames = {};  // 8 (4 up to 8 GiB), 4, 2, 1, 0
  std::optional<std::int64_t> match_chunk = {};           // query rows: all, 1/4, 1/16, 1/64
  std::optional<std::int64_t> match_batch = {};  // references beyond the cache: all (5), 5, 2, 1
  std::optional<DataType> dtype = {};            // of networks: bf16; fp32 on the CPU
  std::optional<DataType> head_dtype = {};       // fp32, bf16
  Offload offload = Offload::none;               // none or weights
  DeviceKind device = DeviceKind::cuda;
};

// References kept on the device unless the user says otherwise: 8, and 4 up to a budget of 8 GiB.
std::int64_t usual_cached_references(std::uint64_t gpu_bytes);

struct LocalizeSettings {
  std::int64_t ref_cache_frames = 0;
  std::uint64_t ref_cache_bytes = 0;
  std::int64_t query_rows = 0;
  std::int64_t match_chunk = 0;
  std::int64_t match_batch = 0;
  DataType dtype = DataType::bf16;
  DataType head_dtype = DataType::fp32;
};

struct LocalizePlan {
  Plan plan;
  LocalizeSettings settings;
};

// Throws Error(bad_option) for values that no run could have. What does not fit is a value:
// plan.fits, with alternatives. A larger budget never fits less.
LocalizePlan plan_localize(const LocalizeRequest& request, const Budget& budget);

}  // namespace skyfix
