// The geometric context transformer (LingBot-Map's GCT): poses, depth and confidence of frames as
// they come. Nothing but the network: what it remembers of earlier frames is handed to it
// (GctMemory), and stream/ decides what that is. Specification: gctstream.md sections 2 to 9.
#pragma once

#include <memory>
#include <string>

#include "skyfix/models/gct/gct_config.h"
#include "skyfix/nn/placement.h"
#include "skyfix/nn/tensor_source.h"

namespace skyfix {

class GctNetwork;  // gct_torch.h

struct GctOptions {
  NetworkPlacement placement{};       // of encoder, frame and global blocks
  Precision heads = Precision::fp32;  // of the camera and dense heads; the reference's is fp32
  int camera_iterations = 4;
  bool camera_rotation = false;  // rotary positions in the camera head; off in every tool
  bool point_head = false;       // load and run it (the weights must have it, or be synthetic)
  // Frames in the dense heads at once; the reference takes 8. Results are the same, and one needs a
  // small part of the memory.
  int frames_at_once = 1;
};

// Thread-safe as long as each call has its own memory.
class Gct {
 public:
  // The official checkpoint (a pickle-zip with or without the key "model"), our safetensors, or
  // synthetic weights. Unknown and missing tensors are errors that list them; a file's point head
  // is passed over unless asked for. Throws Error(bad_weights), Error(no_gpu), OutOfDeviceMemory,
  // DeviceFailure.
  Gct(const std::shared_ptr<const TensorSource>& weights, const GctConfig& config,
      const GctOptions& options = {});
  ~Gct();

  const GctConfig& config() const;
  const GctOptions& options() const;
  const std::string& weights_hash() const;
  const GctNetwork& network() const;

 private:
  std::unique_ptr<const GctNetwork> network_;
};

}  // namespace skyfix
