// The GCT's stages on tensors. Shapes: S frames of a call, h x w patches of a frame (H / 14 x
// W / 14), P = 6 + h * w tokens of a frame, C the width. All calls are const and never wait for the
// device.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skyfix/models/gct/gct.h"
#include "skyfix/nn/weight_reader_torch.h"

namespace skyfix {

// What the frames of a call may see beyond themselves. One for each stream; it stores what is to be
// remembered of the call as it is asked.
class GctMemory {
 public:
  virtual ~GctMemory() = default;
  // Of global block `block`: q, k, v [1, heads, S * P, head size] of the call's frames one after
  // the other, q and k normalised and rotated. Gives softmax(q K^T / sqrt(head size)) V [1, heads,
  // S * P, head size], where K, V are the call's own keys and values and those remembered.
  virtual at::Tensor attend(int block, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v) = 0;
  // Of the camera head's block `block` in iteration `iteration`: one token a frame,
  // [1, camera heads, S, size].
  virtual at::Tensor attend_camera(int iteration, int block, const at::Tensor& q,
                                   const at::Tensor& k, const at::Tensor& v) = 0;
};

// Where in its sequence (or window) a call stands.
struct GctCall {
  std::int64_t kept_before = 0;       // frames kept so far: time index of the call's first frame
  std::int64_t scale_frames = 0;      // of the sequence: frames before this index are scale frames
  std::int64_t processed_before = 0;  // kept or not; used by camera rotation alone
};

// The stages that a profile tells apart, in the order in which they are entered.
enum class GctStage {
  encoder,
  frame_block,
  global_block,
  camera_head,
  depth_head,
  point_head,
  end
};

struct GctOutput {
  at::Tensor pose;               // fp32 [S, 9]: t, q (scalar last), fov_h (vertical), fov_w
  at::Tensor depth;              // fp32 [S, H, W]
  at::Tensor depth_confidence;   // fp32 [S, H, W], above 1
  at::Tensor points;             // fp32 [S, H, W, 3], first frame's coordinates; undefined without
  at::Tensor points_confidence;  // fp32 [S, H, W]
};

class GctNetwork {
 public:
  GctNetwork(const std::shared_ptr<const TensorSource>& weights, const GctConfig& config,
             const GctOptions& options);
  ~GctNetwork();

  using OnStage = std::function<void(GctStage)>;
  // images: fp32 [S, 3, H, W] in 0..1 on the network's device, H and W multiples of 14.
  GctOutput run(const at::Tensor& images, const GctCall& call, GctMemory& memory,
                const OnStage& on_stage = {}) const;

  // The stages of run(), for tests.
  at::Tensor encode(const at::Tensor& images) const;  // patch tokens [S, h * w, C]
  // Tokens [S, P, C] with the variants that the call's frames have.
  at::Tensor with_special_tokens(const at::Tensor& patches, const GctCall& call) const;
  // Taps [S, P, 2C] of the pairs in GctConfig::taps. `each_pair`, where given, sees the outputs of
  // every frame block and global block [S, P, C].
  using OnPair = std::function<void(int pair, const at::Tensor& frame, const at::Tensor& global)>;
  std::array<at::Tensor, 4> aggregate(const at::Tensor& tokens, std::int64_t rows,
                                      std::int64_t columns, const GctCall& call, GctMemory& memory,
                                      const OnStage& on_stage = {},
                                      const OnPair& each_pair = {}) const;
  // Raw poses [S, 9] of every iteration, the last is activated as the result.
  std::vector<at::Tensor> poses(const at::Tensor& last_tap, const GctCall& call,
                                GctMemory& memory) const;
  // Of the depth head: [S, H, W, 1] depth and [S, H, W] confidence; of the point head likewise 3.
  std::pair<at::Tensor, at::Tensor> depth(const std::array<at::Tensor, 4>& taps, std::int64_t rows,
                                          std::int64_t columns) const;
  std::pair<at::Tensor, at::Tensor> points(const std::array<at::Tensor, 4>& taps, std::int64_t rows,
                                           std::int64_t columns) const;

  const GctConfig& config() const;
  const GctOptions& options() const;
  const std::string& weights_hash() const;
  nn::WeightReader::Figures weights() const;  // tensors and values read

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace skyfix
