// The stages of a frame one by one, and the stream against stored values: beneath StreamSession.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "bench/stream_benchmark.h"
#include "skyfix/models/gct/gct_torch.h"
#include "skyfix/nn/element_torch.h"
#include "skyfix/nn/picture_torch.h"
#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/weight_reader_torch.h"
#include "skyfix/stream/kv_memory_torch.h"
#include "skyfix/stream/window_plan.h"

namespace skyfix::bench {
namespace {

using Clock = std::chrono::steady_clock;

std::string stage_name(GctStage stage) {
  switch (stage) {
    case GctStage::encoder:
      return "image encoder";
    case GctStage::frame_block:
      return "frame blocks";
    case GctStage::global_block:
      return "global blocks";
    case GctStage::camera_head:
      return "camera head";
    case GctStage::depth_head:
      return "depth head";
    case GctStage::point_head:
      return "point head";
    case GctStage::end:
      return "to the host";
  }
  return "";
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Adds up what each stage took of a frame.
class StageClock {
 public:
  explicit StageClock(const StreamBench& bench) : bench_(bench) {}
  void enter(const std::string& stage) {
    bench_.synchronize();
    const auto now = Clock::now();
    if (!stage_.empty()) {
      if (!ms_.contains(stage_)) order_.push_back(stage_);
      ms_[stage_] += std::chrono::duration<double, std::milli>(now - since_).count();
    }
    stage_ = stage;
    since_ = now;
  }
  const std::map<std::string, double>& times() const { return ms_; }
  const std::vector<std::string>& order() const { return order_; }

 private:
  const StreamBench& bench_;
  std::string stage_;
  Clock::time_point since_;
  std::map<std::string, double> ms_;
  std::vector<std::string> order_;
};

StreamMemory filled_memory(const StreamBench& bench, const StreamBenchmarkOptions& options,
                           std::int64_t kept) {
  const GctConfig& config = bench.network->config();
  const GctOptions& how = bench.network->options();
  StreamMemory memory(config,
                      config.special_tokens() + std::int64_t{options.width / config.patch_px} *
                                                    (options.height / config.patch_px),
                      {.reserved = options.stream.reserved(), .window = options.stream.window});
  const at::TensorOptions on = at::TensorOptions().device(nn::torch_device(how.placement.device));
  memory.prefill(kept, how.camera_iterations, on.dtype(nn::scalar_type(how.placement.precision)),
                 on.dtype(nn::scalar_type(how.heads)));
  return memory;
}

at::Tensor stored_tensor(const TensorSource& source, const std::string& name) {
  const StoredTensor* stored = source.find(name);
  return stored == nullptr ? at::Tensor() : nn::copy_of(*stored);
}

StreamDeviation deviation(const std::string& what, const at::Tensor& found,
                          const at::Tensor& wanted) {
  const at::Tensor off = (found.reshape(wanted.sizes()) - wanted).abs();
  return {what, off.max().item<double>(),
          (off / wanted.abs().clamp_min(1e-6)).max().item<double>()};
}

}  // namespace

std::vector<StageTime> profile_stream(StreamBench& bench, const StreamBenchmarkOptions& options) {
  const c10::InferenceMode no_gradients;
  const auto pictures = stream_pictures(options.width, options.height, 4);
  const DeviceKind device = bench.network->options().placement.device;
  const std::int64_t kept =
      options.prefill > 0 ? options.prefill : options.stream.reserved() + options.stream.window;
  StreamMemory memory = filled_memory(bench, options, kept);
  std::map<std::string, std::vector<double>> times;
  std::vector<std::string> order;
  constexpr int kWarmUps = 3;
  for (int i = 0; i < kWarmUps + options.profile; ++i) {
    StageClock clock(bench);
    clock.enter("to the device");
    const at::Tensor image = nn::picture_tensor(pictures[i % 4].view(), device);
    memory.begin(StreamMemory::Call::keep, 1);
    const GctOutput output = bench.network->network().run(
        image, {.kept_before = memory.kept(), .scale_frames = options.stream.num_scale_frames},
        memory, [&](GctStage stage) { clock.enter(stage_name(stage)); });
    memory.end();
    output.depth.to(at::kCPU);
    output.depth_confidence.to(at::kCPU);
    output.pose.to(at::kCPU);
    clock.enter("");
    if (i < kWarmUps) continue;
    order = clock.order();
    for (const auto& [stage, ms] : clock.times()) times[stage].push_back(ms);
  }
  std::vector<StageTime> result;
  for (const std::string& stage : order) result.push_back({stage, middle_of(times[stage])});
  return result;
}

std::vector<StreamDeviation> compare_stream(StreamBench& bench,
                                            const StreamBenchmarkOptions& options) {
  const auto source = open_tensor_file(options.goldens / "full_stream.safetensors");
  const at::Tensor images = stored_tensor(*source, "images_u8").permute({0, 2, 3, 1}).contiguous();
  const int height = static_cast<int>(images.size(1)), width = static_cast<int>(images.size(2));
  StreamOptions stream{.num_scale_frames = 3, .window = 2, .keyframe_interval = 1};
  StreamSession session(bench.network, stream, images.size(0));
  std::vector<at::Tensor> poses, depths, confidences;
  const auto sink = [&](StreamPrediction&& each) {
    poses.push_back(at::tensor(at::ArrayRef<double>(each.pose.data(), 9)).to(at::kFloat));
    depths.push_back(at::tensor(each.depth));
    confidences.push_back(at::tensor(each.confidence));
  };
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    session.push({images[i].const_data_ptr<std::uint8_t>(), width, height, 3}, sink);
  }
  session.finish(sink);
  return {deviation("pose_enc", at::cat(poses), stored_tensor(*source, "kf1.pose_enc")),
          deviation("depth", at::cat(depths), stored_tensor(*source, "kf1.depth")),
          deviation("depth_conf", at::cat(confidences), stored_tensor(*source, "kf1.depth_conf"))};
}

}  // namespace skyfix::bench
