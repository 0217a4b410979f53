#include "skyfix/models/gct/gct_camera_torch.h"

namespace skyfix::gct {
namespace {

constexpr double kEpsilon = 1e-5, kModulatedEpsilon = 1e-6;
constexpr std::int64_t kPose = 9, kFieldsOfView = 2;

}  // namespace

at::Tensor activated_pose(const at::Tensor& raw) {
  return at::cat({raw.narrow(-1, 0, kPose - kFieldsOfView),
                  at::relu(raw.narrow(-1, kPose - kFieldsOfView, kFieldsOfView))},
                 -1);
}

CameraHead::CameraHead(const nn::WeightReader& weights, const GctConfig& config)
    : empty_pose_(weights.get_fp32("empty_pose_tokens", {1, 1, kPose})) {
  const nn::WeightReader fp32 = weights.in(Precision::fp32);
  const std::int64_t width = config.camera_width();
  token_norm_ = nn::LayerNorm(fp32, "token_norm", width, kEpsilon);
  trunk_norm_ = nn::LayerNorm(fp32, "trunk_norm", width, kEpsilon);
  embed_pose_ = nn::Linear(weights, "embed_pose", kPose, width);
  modulation_ = nn::Linear(weights, "poseLN_modulation.1", width, 3 * width);
  fc1_ = nn::Linear(weights, "pose_branch.fc1", width, width / 2);
  fc2_ = nn::Linear(weights, "pose_branch.fc2", width / 2, kPose);
  const BlockShape shape{
      .width = width, .hidden = config.mlp_ratio * width, .heads = config.camera_heads};
  for (int n = 0; n < config.camera_blocks; ++n) {
    trunk_.emplace_back(weights.under("trunk." + std::to_string(n)), shape);
  }
}

// The token shifted, scaled and gated by the pose so far.
at::Tensor CameraHead::modulated(const at::Tensor& token, const at::Tensor& pose,
                                 const OnStep& on_step, const std::string& call) const {
  const at::Tensor embedded = narrowed(embed_pose_, pose);
  const at::Tensor modulation = modulation_(at::silu(embedded)).to(at::kFloat);
  if (on_step) {
    on_step("embed_pose" + call, embedded);
    on_step("modulation" + call, modulation);
  }
  const auto parts = modulation.chunk(3, -1);  // shift, scale, gate
  const at::Tensor normal = at::layer_norm(token, {token.size(-1)}, {}, {}, kModulatedEpsilon);
  return parts[2] * (normal * (1 + parts[1]) + parts[0]) + token;
}

std::vector<at::Tensor> CameraHead::operator()(const at::Tensor& tokens, int iterations,
                                               const Rotation* rotation, GctMemory& memory,
                                               const OnStep& on_step) const {
  const at::Tensor token = token_norm_(tokens.unsqueeze(0));  // [1, S, 2C]
  if (on_step) on_step("token_norm", token);
  at::Tensor pose = empty_pose_.expand({1, token.size(1), kPose});
  std::vector<at::Tensor> poses;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const std::string call = ".call" + std::to_string(iteration);
    at::Tensor x = modulated(token, pose, on_step, call);
    for (int n = 0; n < int(trunk_.size()); ++n) {
      x = trunk_[n](x, rotation,
                    [&](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
                      return memory.attend_camera(iteration, n, q, k, v);
                    });
      if (on_step) on_step("trunk." + std::to_string(n) + call, x);
    }
    const at::Tensor delta = fc2_(at::gelu(narrowed(fc1_, trunk_norm_(x)))).to(at::kFloat);
    if (on_step) on_step("pose_delta" + call, delta);
    pose = iteration == 0 ? delta : pose + delta;
    poses.push_back(pose.squeeze(0));
  }
  return poses;
}

}  // namespace skyfix::gct
