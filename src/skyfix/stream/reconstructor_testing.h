// A source of made frames and a run over it with the tiny network, for tests of this room.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "skyfix/nn/synthetic_weights.h"
#include "skyfix/stream/reconstructor.h"

namespace skyfix::testing {

inline std::shared_ptr<const Gct> tiny() {
  static const auto network =
      std::make_shared<const Gct>(make_synthetic_source(), gct_tiny(), GctOptions{});
  return network;
}

// Frames from memory; `odd` may change each before it is given.
class MadeSource : public FrameSource {
 public:
  explicit MadeSource(int frames, std::function<void(SourceFrame&)> odd = {}, int width = 70,
                      int height = 56)
      : frames_(frames), odd_(std::move(odd)), width_(width), height_(height) {
    info_.kind = FrameSourceKind::video;
    info_.frames = frames;
    info_.width = width;
    info_.height = height;
  }
  const FrameSourceInfo& info() const override { return info_; }
  std::optional<SourceFrame> next() override {
    if (index_ == lose_after) throw Error(Reason::source_lost, "the cable was pulled");
    if (index_ >= frames_) return std::nullopt;
    SourceFrame frame;
    frame.index = ++index_;
    frame.name = "clip#" + std::to_string(index_);
    frame.time_ns = index_ * 1'000'000;
    frame.pixels = picture(width_, height_, index_);
    if (odd_) odd_(frame);
    return frame;
  }
  FrameSourceFigures figures() const override { return {index_, 0, 0}; }

  static Image picture(int width, int height, std::int64_t seed) {
    Image image{width, height, 3, {}};
    image.pixels.resize(std::size_t(width) * height * 3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<std::uint8_t>((i * 7 + seed * 31) ^ (i / 210 * (seed + 3)));
    }
    return image;
  }

  FrameSourceInfo info_;
  std::int64_t lose_after = -1;

 private:
  std::int64_t frames_, index_ = 0;
  std::function<void(SourceFrame&)> odd_;
  int width_, height_;
};

inline ReconstructOptions small() {
  ReconstructOptions options;
  options.stream = {.num_scale_frames = 2, .window = 3, .keyframe_interval = 2};
  options.image_size = 70;
  return options;
}

struct Outcome {
  std::vector<StreamFrame> frames;
  StreamResult result;
};

inline Outcome run(FrameSource& source, const ReconstructOptions& options,
                   std::int64_t stop_after = -1) {
  Outcome outcome;
  std::atomic<bool> cancel{false};
  NoProgress progress;
  outcome.result = reconstruct(
      tiny(), source, options,
      [&](StreamFrame&& frame) {
        outcome.frames.push_back(std::move(frame));
        if (std::ssize(outcome.frames) == stop_after) cancel = true;
      },
      progress, cancel);
  return outcome;
}

}  // namespace skyfix::testing
