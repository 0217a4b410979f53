#include "skyfix/stream/stream_window_torch.h"

#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

#include "skyfix/memory/owner_scope.h"
#include "skyfix/memory/torch_errors.h"
#include "skyfix/nn/picture_torch.h"
#include "skyfix/nn/weight_reader_torch.h"
#include "skyfix/stream/gct_pose.h"
#include "skyfix/stream/window_plan.h"

namespace skyfix {
namespace {

constexpr std::string_view kPictureOwner = "gct pictures";
// Keyframes by motion without a threshold: this share of the picture's width.
constexpr double kAutomaticMotionShare = 0.03;

StreamMemoryOptions memory_options(const StreamOptions& options, const StreamWindowPlace& place) {
  return {.reserved = options.reserved(),
          .window = options.window,
          .specials_of_evicted = options.specials_of_evicted,
          .most_frames = place.most_kept};
}

std::vector<float> values_of(const at::Tensor& host) {
  return {host.const_data_ptr<float>(), host.const_data_ptr<float>() + host.numel()};
}

// Frame `i` of a call's output, which is on the host.
void read_frame(const GctOutput& output, std::int64_t i, StreamPrediction& prediction) {
  const at::Tensor pose = output.pose[i];
  std::copy_n(pose.const_data_ptr<float>(), 9, prediction.pose.begin());
  prediction.height = static_cast<int>(output.depth.size(1));
  prediction.width = static_cast<int>(output.depth.size(2));
  prediction.depth = values_of(output.depth[i]);
  prediction.confidence = values_of(output.depth_confidence[i]);
  if (!output.points.defined()) return;
  prediction.points = values_of(output.points[i]);
  prediction.points_confidence = values_of(output.points_confidence[i]);
}

// fp32 on the host. asynchronous: pinned, and not there yet.
at::Tensor to_host(const at::Tensor& tensor, bool asynchronous) {
  if (!tensor.defined()) return {};
  const at::Tensor full = tensor.to(at::kFloat).contiguous();
  if (!asynchronous) return full.to(at::kCPU);
  at::Tensor host =
      at::empty(full.sizes(), at::TensorOptions().dtype(at::kFloat).pinned_memory(true));
  return host.copy_(full, /*non_blocking=*/true);
}

StreamMemory::Call call_of(FrameRole role) {
  switch (role) {
    case FrameRole::scale:
      return StreamMemory::Call::first;
    case FrameRole::keyframe:
      return StreamMemory::Call::keep;
    case FrameRole::non_keyframe:
      break;
  }
  return StreamMemory::Call::look;
}

at::Tensor images_of(std::span<const BytePicture> pictures, DeviceKind device) {
  const OwnerScope owner(kPictureOwner);
  std::vector<at::Tensor> images;
  for (const BytePicture& picture : pictures) {
    images.push_back(nn::picture_tensor(picture.view(), device));
  }
  return images.size() == 1 ? images[0] : at::cat(images);
}

}  // namespace

PendingPredictions::PendingPredictions(const GctOutput& output, std::vector<StreamPrediction> known,
                                       bool asynchronous)
    : predictions_(std::move(known)) {
  const bool on_device = output.depth.is_cuda();
  const auto copied = [&](const at::Tensor& tensor) {
    return to_host(tensor, asynchronous && on_device);
  };
  host_ = {copied(output.pose), copied(output.depth), copied(output.depth_confidence),
           copied(output.points), copied(output.points_confidence)};
  if (!asynchronous || !on_device) return;
  const c10::impl::VirtualGuardImpl device(c10::DeviceType::CUDA);
  arrived_.emplace(c10::DeviceType::CUDA);
  arrived_->record(device.getStream(output.depth.device()));
}

std::vector<StreamPrediction> PendingPredictions::take() {
  if (arrived_) with_torch_errors(0, [&] { arrived_->synchronize(); });
  for (std::size_t i = 0; i < predictions_.size(); ++i) {
    read_frame(host_, static_cast<std::int64_t>(i), predictions_[i]);
  }
  host_ = {};
  return std::move(predictions_);
}

StreamWindow::StreamWindow(std::shared_ptr<const Gct> network, const StreamOptions& options,
                           const StreamWindowPlace& place, int width, int height)
    : network_(std::move(network)),
      options_(options),
      place_(place),
      width_(width),
      height_(height),
      memory_(
          network_->config(),
          network_->config().special_tokens() + std::int64_t{width / network_->config().patch_px} *
                                                    (height / network_->config().patch_px),
          memory_options(options, place)) {}

FrameRole StreamWindow::planned_role() const {
  if (!by_motion()) return frame_role(frames_, place_.scale_frames, place_.keyframe_interval);
  // The first streamed frame is kept in any case; others begin as frames that only look.
  return frames_ == place_.scale_frames ? FrameRole::keyframe : FrameRole::non_keyframe;
}

double StreamWindow::motion_threshold_px() const {
  return options_.motion_px > 0 ? options_.motion_px : kAutomaticMotionShare * width_;
}

bool StreamWindow::moved_enough(const StreamPrediction& prediction) const {
  if (!last_keyframe_) return true;
  if (frames_ - last_keyframe_->frame > options_.max_non_keyframe_gap) return true;
  return mean_displacement_px(prediction.pose, prediction.depth, width_, height_,
                              last_keyframe_->pose) > motion_threshold_px();
}

GctOutput StreamWindow::through_network(std::span<const BytePicture> pictures) {
  const GctCall where{
      .kept_before = memory_.kept(),
      .scale_frames = frames_ == 0 ? std::ssize(pictures) : place_.scale_frames,
      .processed_before = frames_,
  };
  return network_->network().run(images_of(pictures, network_->options().placement.device), where,
                                 memory_);
}

PendingPredictions StreamWindow::on_the_way(const GctOutput& output, FrameRole role,
                                            std::int64_t count) const {
  std::vector<StreamPrediction> known(count);
  for (std::int64_t i = 0; i < count; ++i) {
    known[i].role = role;
    known[i].window = place_.window;
    known[i].position = place_.first_frame + frames_ + i;
    known[i].keys_seen = memory_.keys_seen();
  }
  return {output, std::move(known), options_.offload_to_cpu};
}

PendingPredictions StreamWindow::run(std::span<const BytePicture> pictures) {
  const c10::InferenceMode no_gradients;
  const std::int64_t count = std::ssize(pictures);
  const FrameRole planned = frames_ == 0 ? FrameRole::scale : planned_role();
  return with_torch_errors(0, [&] {
    memory_.begin(call_of(planned), count);
    try {
      const GctOutput output = through_network(pictures);
      const Decision decision = decided(planned, output, count);
      PendingPredictions pending = on_the_way(output, decision.role, count);
      memory_.end();
      if (decision.role != planned) memory_.keep_last();
      // Nothing fails from here on.
      if (frames_ == 0) place_.scale_frames = count;
      last_keyframe_ = decision.last_keyframe;
      frames_ += count;
      return pending;
    } catch (...) {
      memory_.roll_back();
      throw;
    }
  });
}

StreamWindow::Decision StreamWindow::decided(FrameRole planned, const GctOutput& output,
                                             std::int64_t count) const {
  if (!by_motion()) return {planned, std::nullopt};
  // Motion is seen in the prediction, so that is waited for.
  StreamPrediction prediction;
  const GctOutput host{to_host(output.pose, false),
                       to_host(output.depth, false),
                       to_host(output.depth_confidence, false),
                       {},
                       {}};
  read_frame(host, count - 1, prediction);
  const bool kept = planned != FrameRole::non_keyframe || moved_enough(prediction);
  if (!kept) return {planned, last_keyframe_};
  const FrameRole role = planned == FrameRole::scale ? planned : FrameRole::keyframe;
  return {role, LastKeyframe{prediction.pose, frames_ + count - 1}};
}

void StreamWindow::prefill(std::int64_t kept_frames) {
  const c10::InferenceMode no_gradients;
  const GctOptions& how = network_->options();
  const at::TensorOptions on = at::TensorOptions().device(nn::torch_device(how.placement.device));
  with_torch_errors(0, [&] {
    memory_.prefill(kept_frames, how.camera_iterations,
                    on.dtype(nn::scalar_type(how.placement.precision)),
                    on.dtype(nn::scalar_type(how.heads)));
  });
  frames_ = kept_frames;
}

void StreamWindow::restore(const Progress& progress, const StreamMemory::Tensors& memory,
                           std::int64_t kept, std::int64_t camera_tokens) {
  const c10::InferenceMode no_gradients;
  frames_ = progress.frames;
  place_.scale_frames = progress.scale_frames;
  last_keyframe_ = progress.last_keyframe;
  with_torch_errors(0, [&] {
    memory_.restore(memory, kept, camera_tokens,
                    nn::torch_device(network_->options().placement.device));
  });
}

}  // namespace skyfix
