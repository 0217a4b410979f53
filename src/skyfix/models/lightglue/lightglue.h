// LightGlue (Lindenberger et al. 2023): which keypoints of two pictures are the same place, by
// attention within and between the two sets. One class in two sizes: for ALIKED, and for XFeat
// (LighterGlue). Specification: aliked_lightglue.md section 3, xfeat.md section 5.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skyfix/nn/placement.h"
#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct LightGlueConfig {
  int input = 128;  // of the descriptors
  int width = 256;
  int layers = 9;
  int heads = 4;
  double threshold_decay = 4.0 / 9;  // a point is sure after layer i above 0.8 + 0.1 exp(-decay i)
  double filter_threshold = 0.1;     // of a match's probability
  double depth_confidence = 0.95;    // stop early when this share is sure; -1 = never
  double width_confidence = 0.99;    // drop points unlikely to match; -1 = never
  int prune_above = 1536;  // points of a side below which none is dropped; -1 = always drop
  static LightGlueConfig for_aliked();
  static LightGlueConfig for_xfeat();
};

// One picture's keypoints. Positions are COLMAP pixels of a picture of `width` x `height`.
struct LightGlueSide {
  std::span<const float> xy;           // [n,2]
  std::span<const float> descriptors;  // [n,input]
  int width = 0;
  int height = 0;
};

struct LightGlueMatch {
  std::uint32_t first = 0;   // row of the first side
  std::uint32_t second = 0;  // row of the second side
  float score = 0;           // probability
};

class LightGlue {
 public:
  // A side after the part of the network that does not know the other one: what pays where a side
  // is matched with several. Holds nothing of what it was made from; on the network's device.
  class Prepared {
   public:
    virtual ~Prepared() = default;
  };

  // XFeat's file carries the matcher under "matcher." and an unused extractor: both are handled,
  // as are the layer names of older files.
  // Throws Error(bad_weights) listing what does not fit.
  LightGlue(std::shared_ptr<const TensorSource> weights, const LightGlueConfig& config,
            const NetworkPlacement& placement);
  ~LightGlue();
  // By row of the first side; each row of either side at most once. Empty sides give none.
  // Throws OutOfDeviceMemory, DeviceFailure. Thread-safe.
  std::vector<LightGlueMatch> match(const LightGlueSide& first, const LightGlueSide& second) const;
  // The same in two steps. Both sides were prepared by this network.
  std::unique_ptr<const Prepared> prepare(const LightGlueSide& side) const;
  std::vector<LightGlueMatch> match(const Prepared& first, const Prepared& second) const;
  const LightGlueConfig& config() const;
  std::string weights_hash() const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
};

}  // namespace skyfix
