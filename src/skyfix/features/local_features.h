// Local features behind one small interface. A new kind is a source file, a line in
// make_local_features and a test.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/image/image.h"

namespace skyfix {

struct Keypoint {
  float x = 0;  // COLMAP pixels: the centre of the top-left pixel is (0.5, 0.5)
  float y = 0;
  float scale = 1;      // px
  float angle_rad = 0;  // image plane, x towards y
  float response = 0;   // larger is stronger
};

// Keypoints with one unit-length descriptor row each (dot product = similarity). Sorted by falling
// response, ties by y then x, so that equal input gives equal bytes.
struct FeatureSet {
  int dimension = 0;
  std::vector<Keypoint> keypoints;
  std::vector<float> descriptors;  // [keypoints.size(), dimension]

  const float* descriptor(std::size_t i) const { return descriptors.data() + i * dimension; }
};

struct FeatureOptions {
  int max_features = 20000;          // the strongest are kept; 0 = all
  double contrast_threshold = 0.02;  // SIFT: lower gives more and weaker features
  // A picture with a longer side is shrunk to this first, and the keypoints are mapped back; 0 =
  // never. COLMAP does the same (3200), so its observations lie on the same features.
  int max_long_side_px = 3200;
};

class LocalFeatures {
 public:
  virtual ~LocalFeatures() = default;
  virtual std::string_view kind() const = 0;  // "sift"
  virtual int dimension() const = 0;
  // Identity of method and options, part of cache keys.
  virtual std::string signature() const = 0;
  virtual bool wants_colour() const { return false; }  // RGB pictures; else grey
  // Whether the descriptors of a turned picture are others.
  virtual bool turn_matters() const { return false; }
  // An image without features gives an empty set. Thread-safe.
  virtual FeatureSet extract(const Image& image) const = 0;
};

// "sift" (RootSIFT over OpenCV's SIFT); those of networks, which need weights, are made by
// make_network_features (network_features.h). Throws Error(bad_option) naming the nearest kind.
std::unique_ptr<LocalFeatures> make_local_features(std::string_view kind,
                                                   const FeatureOptions& options = {});
std::vector<std::string> local_feature_kinds();

}  // namespace skyfix
