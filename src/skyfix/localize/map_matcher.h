// The port for matchers: from a photo and its candidate map images to 2D-3D pairs. A new one is a
// source file, a line in make_map_matcher and a test.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "skyfix/features/local_features.h"
#include "skyfix/image/image.h"
#include "skyfix/localize/map_match.h"
#include "skyfix/map/map_folder.h"
#include "skyfix/memory/retry.h"

namespace skyfix {

// A map image to match with, and by how many quarters (clockwise, 0..3) the photo is to be turned
// so that both have about the same heading.
struct TurnedCandidate {
  std::uint32_t image = 0;  // map image index
  int turn = 0;
};

struct MatchedFrame {
  // What the pairs' `feature` counts, in pixels of the photo as it is stored (not turned). Without
  // descriptors (dimension 0) where the matcher has none of its own.
  FeatureSet features;
  std::vector<MapPair> pairs;  // each feature and each map point at most once, by falling score
  RetryReport retries;
};

class MapMatcher {
 public:
  virtual ~MapMatcher() = default;
  virtual std::string_view kind() const = 0;  // "sift", "xfeat", "xfeat-dense", "aliked", "mast3r"
  virtual bool wants_colour() const = 0;      // RGB pictures; else grey
  // False for what matches whatever the turn (SIFT): candidates' turns are then ignored.
  virtual bool needs_turn() const = 0;
  // `picture` as stored. At most `max_pairs` pairs (0 = all). Throws Error(no_features) when there
  // is nothing to match, DeviceFailure, std::bad_alloc for host memory; device memory is its own
  // care. Not thread-safe.
  virtual MatchedFrame match(const Image& picture, std::span<const TurnedCandidate> candidates,
                             int max_pairs) = 0;
};

}  // namespace skyfix
