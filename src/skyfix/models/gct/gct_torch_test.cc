#include "skyfix/models/gct/gct_torch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <map>

#include "skyfix/base/error.h"
#include "skyfix/models/gct/testing_memory_torch.h"
#include "skyfix/models/gct/testing_torch.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::gct {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

GctOptions with_points() {
  GctOptions options;
  options.point_head = true;
  return options;
}

const GctNetwork& tiny_network() {
  static const GctNetwork network(make_synthetic_source(), gct_tiny(), with_points());
  return network;
}

class GctGoldens : public Goldens {
 protected:
  NaiveStream::Result streamed(const GctNetwork& network, const NaivePolicy& policy,
                               std::int64_t frames = 10) {
    return NaiveStream(network, policy).run(tiny_images(frames));
  }

  void expect_output(const GctOutput& output, const std::string& prefix) {
    expect_golden(output.pose, prefix + "pose_enc");
    expect_golden(output.depth, prefix + "depth");
    expect_golden(output.depth_confidence, prefix + "depth_conf");
    if (!has(prefix + "world_points")) return;
    expect_golden(output.points, prefix + "world_points");
    expect_golden(output.points_confidence, prefix + "world_points_conf");
  }

  void expect_blocks(const NaiveStream::Result& found) {
    int compared = 0;
    for (std::size_t n = 0; n < found.frame_blocks.size(); ++n) {
      const std::string frame = "frame_block." + std::to_string(n),
                        global = "global_block." + std::to_string(n);
      if (has(frame)) expect_golden(found.frame_blocks[n], frame);
      if (has(global)) expect_golden(found.global_blocks[n], global);
      compared += has(frame) + has(global);
    }
    EXPECT_GE(compared, 3);
  }

  void expect_iterations(const NaiveStream::Result& found) {
    for (std::size_t i = 0; i < 4; ++i) {
      expect_golden(activated_pose(found.poses.at(i)), "camera.pose_enc.iter" + std::to_string(i));
    }
  }

  // Whole frames of the last moment, and the specials of the others.
  void expect_cache(const NaiveMemory& memory, int block) {
    const auto& kept = memory.kept(block);
    std::vector<at::Tensor> k, v, special_k, special_v;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const bool whole = memory.whole(i, kept.size());
      (whole ? k : special_k).push_back(whole ? kept[i].k : kept[i].k.narrow(2, 0, 6));
      (whole ? v : special_v).push_back(whole ? kept[i].v : kept[i].v.narrow(2, 0, 6));
    }
    const std::string prefix = "cache.final.block" + std::to_string(block);
    expect_golden(at::stack(k, 2), prefix + ".k");
    expect_golden(at::stack(v, 2), prefix + ".v");
    expect_golden(at::stack(special_k, 2), prefix + ".k_special");
    expect_golden(at::stack(special_v, 2), prefix + ".v_special");
  }
};

constexpr NaivePolicy kStream{.scale_frames = 2, .reserved = 2, .window = 3};

TEST_F(GctGoldens, OneFrameStageByStage) {
  if (!open("tiny_single")) return;
  const NaiveStream::Result found =
      streamed(tiny_network(), {.scale_frames = 1, .reserved = 2, .window = 3}, 1);
  expect_blocks(found);
  expect_iterations(found);
  expect_output(found.output, "out.");
}

TEST_F(GctGoldens, AStreamWithEvictionStageByStage) {
  if (!open("tiny_stream")) return;
  NaiveStream stream(tiny_network(), kStream);
  const NaiveStream::Result found = stream.run(tiny_images(10));
  EXPECT_THAT(found.keys_seen, ElementsAreArray({52, 52, 78, 104, 130, 136, 142, 148, 154, 160}));
  expect_blocks(found);
  expect_iterations(found);
  expect_output(found.output, "out.");
  expect_cache(stream.memory(), 0);
  expect_cache(stream.memory(), 4);
  for (const int iteration : {0, 3}) {
    const NaiveMemory::Frame& camera = stream.memory().camera(iteration, 1);
    const std::string prefix = "cache.final.camera.iter" + std::to_string(iteration) + ".block1";
    expect_golden(camera.k, prefix + ".k");
    expect_golden(camera.v, prefix + ".v");
  }
}

TEST_F(GctGoldens, KeyframesAtIntervals) {
  const std::vector<std::int64_t> keys[] = {{52, 52, 78, 104, 104, 130, 130, 156, 136, 162},
                                            {52, 52, 78, 104, 104, 104, 130, 130, 130, 156}};
  const std::vector<std::int64_t> times[] = {{0, 1, 2, 3, 3, 4, 4, 5, 5, 6},
                                             {0, 1, 2, 3, 3, 3, 4, 4, 4, 5}};
  for (const int interval : {2, 3}) {
    if (!open("tiny_stream_kf" + std::to_string(interval))) return;
    NaivePolicy policy = kStream;
    policy.interval = interval;
    const NaiveStream::Result found = streamed(tiny_network(), policy);
    EXPECT_THAT(found.keys_seen, ElementsAreArray(keys[interval - 2]));
    EXPECT_THAT(found.time_indices, ElementsAreArray(times[interval - 2]));
    expect_blocks(found);
    expect_output(found.output, "out.");
  }
}

TEST_F(GctGoldens, OtherSettingsOfTheStream) {
  if (!open("tiny_variants")) return;
  const auto expect_case = [&](const std::string& name, const NaivePolicy& policy) {
    expect_output(streamed(tiny_network(), policy).output, name + ".");
  };
  expect_case("scale_slots4_scale2_window2", {.scale_frames = 2, .reserved = 4, .window = 2});
  expect_case("scale1_window2", {.scale_frames = 1, .reserved = 1, .window = 2});
  NaivePolicy forgetful = kStream;
  forgetful.specials_of_evicted = false;
  expect_case("no_special_retention", forgetful);
}

TEST_F(GctGoldens, OtherSettingsOfTheCameraHead) {
  if (!open("tiny_variants")) return;
  GctOptions once, turned;
  once.camera_iterations = 1;
  turned.camera_rotation = true;
  expect_output(streamed(GctNetwork(make_synthetic_source(), gct_tiny(), once), kStream).output,
                "camera_iterations1.");
  NaivePolicy second = kStream;
  second.interval = 2;
  expect_output(streamed(GctNetwork(make_synthetic_source(), gct_tiny(), turned), second).output,
                "camera_rope_kf2.");
}

// Weights times powers of two, so that the epsilon of every norm matters.
class ScaledWeights : public TensorSource {
 public:
  explicit ScaledWeights(std::shared_ptr<const TensorSource> weights)
      : weights_(std::move(weights)) {
    for (const std::string& name : weights_->names()) scale(*weights_->find(name));
  }
  std::string description() const override { return "scaled"; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = scaled_.find(name);
    return found == scaled_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override { return weights_->names(); }
  const std::map<std::string, std::string>& metadata() const override {
    return weights_->metadata();
  }
  std::string hash() const override { return "scaled"; }

 private:
  static int exponent(const std::string& name) {
    const auto within = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (within("patch_embed.cls_token") || within("pos_embed") || within("register_tokens") ||
        within("patch_embed.patch_embed.proj.")) {
      return -10;
    }
    if (within("aggregator.patch_embed.norm.") || within("camera_head.token_norm.") ||
        name == "aggregator.camera_token" || name == "aggregator.register_token" ||
        name == "aggregator.scale_token") {
      return -9;
    }
    if ((within("frame_blocks") || within("global_blocks")) && within("attn.qkv.")) return -7;
    return within("ls1.gamma") || within("ls2.gamma") ? -5 : 0;
  }
  void scale(const StoredTensor& stored) {
    const auto* first = reinterpret_cast<const float*>(stored.bytes.data());
    auto& values = values_.emplace_back(first, first + stored.elements());
    for (float& value : values) value = std::ldexp(value, exponent(stored.name));
    StoredTensor tensor = stored;
    tensor.bytes = std::as_bytes(std::span(values));
    scaled_[stored.name] = tensor;
  }
  std::shared_ptr<const TensorSource> weights_;
  std::list<std::vector<float>> values_;
  std::map<std::string, StoredTensor, std::less<>> scaled_;
};

TEST_F(GctGoldens, EveryNormHasItsEpsilon) {
  if (!open("tiny_weights") || !open("tiny_small_variance")) return;
  const auto weights =
      std::make_shared<ScaledWeights>(open_tensor_file(golden_file("tiny_weights")));
  const GctNetwork network(weights, gct_config_of(*weights), with_points());
  expect_output(streamed(network, {.scale_frames = 2, .reserved = 2, .window = 1}, 4).output,
                "out.");
}

}  // namespace
}  // namespace skyfix::gct
