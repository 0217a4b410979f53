// The memory of a stream in its most naive form: everything is kept, and what a query may see is
// chosen anew each time (specification: gctstream.md section 6.3). The twin of stream/'s caches.
// For tests only.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "skyfix/models/gct/gct_camera_torch.h"
#include "skyfix/models/gct/gct_torch.h"
#include "skyfix/nn/layers_torch.h"

namespace skyfix::gct {

struct NaivePolicy {
  std::int64_t scale_frames = 1;  // of the run
  std::int64_t reserved = 1;      // R: the first frames kept, whole for ever
  std::int64_t window = 64;       // W: the last frames kept, whole
  std::int64_t interval = 1;      // of keyframes
  bool specials_of_evicted = true;
};

class NaiveMemory : public GctMemory {
 public:
  struct Frame {
    at::Tensor k, v;  // [1, heads, P, size]
  };

  NaiveMemory(const NaivePolicy& policy, std::int64_t special_tokens)
      : policy_(policy), special_(special_tokens) {}

  // Before each call: of how many frames it is, and whether they are remembered.
  void begin(std::int64_t frames, bool keep) {
    frames_ = frames;
    keep_ = keep;
  }

  at::Tensor attend(int block, const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& v) override {
    std::vector<Frame>& kept = blocks_[block];
    const std::vector<Frame> own = split(k, v);
    // Scale frames see each other whole; a streamed keyframe sees what is left with it.
    std::vector<Frame> all = kept;
    all.insert(all.end(), own.begin(), own.end());
    if (keep_) kept = all;
    const Frame seen = joined(keep_ && frames_ == 1 ? visible(all)
                              : keep_               ? all
                                                    : beside(visible(kept), own));
    keys_seen_ = seen.k.size(2);
    return nn::attention(q, seen.k, seen.v, 1 / std::sqrt(double(q.size(-1))));
  }

  at::Tensor attend_camera(int iteration, int block, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v) override {
    Frame& kept = camera_[{iteration, block}];
    const Frame all = kept.k.defined() ? joined({kept, {k, v}}) : Frame{k, v};
    if (keep_) kept = all;
    return nn::attention(q, all.k, all.v, 1 / std::sqrt(double(q.size(-1))));
  }

  // In the last call of a global block.
  std::int64_t keys_seen() const { return keys_seen_; }
  // Frames kept by a global block, oldest first, whole: all that ever were.
  const std::vector<Frame>& kept(int block) const { return blocks_.at(block); }
  bool whole(std::size_t frame, std::size_t kept) const {
    return std::int64_t(frame) < policy_.reserved ||
           std::int64_t(frame) >= std::int64_t(kept) - policy_.window;
  }
  const Frame& camera(int iteration, int block) const { return camera_.at({iteration, block}); }

 private:
  std::vector<Frame> split(const at::Tensor& k, const at::Tensor& v) const {
    const auto keys = k.chunk(frames_, 2), values = v.chunk(frames_, 2);
    std::vector<Frame> own;
    for (std::int64_t i = 0; i < frames_; ++i) own.push_back({keys[i].clone(), values[i].clone()});
    return own;
  }

  std::vector<Frame> visible(const std::vector<Frame>& kept) const {
    std::vector<Frame> seen;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (whole(i, kept.size())) {
        seen.push_back(kept[i]);
      } else if (policy_.specials_of_evicted) {
        seen.push_back({kept[i].k.narrow(2, 0, special_), kept[i].v.narrow(2, 0, special_)});
      }
    }
    return seen;
  }

  static std::vector<Frame> beside(std::vector<Frame> first, const std::vector<Frame>& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  static Frame joined(const std::vector<Frame>& frames) {
    std::vector<at::Tensor> k, v;
    for (const Frame& frame : frames) {
      k.push_back(frame.k);
      v.push_back(frame.v);
    }
    return {at::cat(k, 2), at::cat(v, 2)};
  }

  NaivePolicy policy_;
  std::int64_t special_;
  std::int64_t frames_ = 1;
  bool keep_ = true;
  std::int64_t keys_seen_ = 0;
  std::map<int, std::vector<Frame>> blocks_;
  std::map<std::pair<int, int>, Frame> camera_;
};

// A whole stream through network and naive memory, frame by frame.
class NaiveStream {
 public:
  NaiveStream(const GctNetwork& network, const NaivePolicy& policy)
      : network_(network), policy_(policy), memory_(policy, network.config().special_tokens()) {}

  // images fp32 [n, 3, H, W]. All that the calls gave, one after the other along the frames.
  struct Result {
    GctOutput output;
    std::vector<at::Tensor> frame_blocks, global_blocks;  // [n, P, C] each
    std::vector<at::Tensor> poses;                        // [n, 9] raw, each iteration
    std::vector<std::int64_t> keys_seen, time_indices;    // of each frame
  };
  Result run(const at::Tensor& images) {
    const std::int64_t frames = images.size(0), scale = std::min(policy_.scale_frames, frames);
    call(images.narrow(0, 0, scale), true);
    for (std::int64_t i = scale; i < frames; ++i) {
      call(images.narrow(0, i, 1), (i - scale) % policy_.interval == 0);
    }
    return result();
  }

  const NaiveMemory& memory() const { return memory_; }

 private:
  struct Call {
    GctOutput output;
    std::vector<at::Tensor> frame_blocks, global_blocks, poses;
  };

  void call(const at::Tensor& images, bool keep) {
    const std::int64_t count = images.size(0), rows = images.size(2) / 14,
                       columns = images.size(3) / 14;
    const GctCall where{kept_, policy_.scale_frames, processed_};
    memory_.begin(count, keep);
    Call made;
    const auto taps = network_.aggregate(
        network_.with_special_tokens(network_.encode(images), where), rows, columns, where, memory_,
        {}, [&](int, const at::Tensor& frame, const at::Tensor& global) {
          made.frame_blocks.push_back(frame);
          made.global_blocks.push_back(global);
        });
    made.poses = network_.poses(taps[3], where, memory_);
    std::tie(made.output.depth, made.output.depth_confidence) = network_.depth(taps, rows, columns);
    if (network_.options().point_head) {
      std::tie(made.output.points, made.output.points_confidence) =
          network_.points(taps, rows, columns);
    }
    calls_.push_back(std::move(made));
    for (std::int64_t i = 0; i < count; ++i) {
      keys_seen_.push_back(memory_.keys_seen());
      time_indices_.push_back(kept_ + i);
    }
    kept_ += keep ? count : 0;
    processed_ += count;
  }

  template <class Pick>
  at::Tensor along_frames(const Pick& pick) const {
    std::vector<at::Tensor> parts;
    for (const Call& made : calls_) parts.push_back(pick(made));
    return parts[0].defined() ? at::cat(parts) : at::Tensor();
  }

  std::vector<at::Tensor> each_along_frames(std::vector<at::Tensor> Call::*member) const {
    std::vector<at::Tensor> all;
    for (std::size_t i = 0; i < (calls_[0].*member).size(); ++i) {
      all.push_back(along_frames([&](const Call& made) { return (made.*member)[i]; }));
    }
    return all;
  }

  Result result() const {
    Result all;
    all.frame_blocks = each_along_frames(&Call::frame_blocks);
    all.global_blocks = each_along_frames(&Call::global_blocks);
    all.poses = each_along_frames(&Call::poses);
    const auto output = [&](at::Tensor GctOutput::*member) {
      return along_frames([&](const Call& made) { return made.output.*member; });
    };
    all.output.pose = activated_pose(all.poses.back());
    all.output.depth = output(&GctOutput::depth);
    all.output.depth_confidence = output(&GctOutput::depth_confidence);
    all.output.points = output(&GctOutput::points);
    all.output.points_confidence = output(&GctOutput::points_confidence);
    all.keys_seen = keys_seen_;
    all.time_indices = time_indices_;
    return all;
  }

  const GctNetwork& network_;
  NaivePolicy policy_;
  NaiveMemory memory_;
  std::int64_t kept_ = 0, processed_ = 0;
  std::vector<Call> calls_;
  std::vector<std::int64_t> keys_seen_, time_indices_;
};

}  // namespace skyfix::gct
