// One window of a stream (a whole stream, where it is not windowed): frames through the network and
// its memory, in order.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Event.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "skyfix/models/gct/gct.h"
#include "skyfix/nn/resample.h"
#include "skyfix/stream/kv_memory_torch.h"
#include "skyfix/stream/session.h"

namespace skyfix {

// Predictions on their way to the host.
class PendingPredictions {
 public:
  // `known`: what is known of them besides the network's output. asynchronous: into pinned memory,
  // in order with the device's work, which goes on meanwhile.
  PendingPredictions(const GctOutput& output, std::vector<StreamPrediction> known,
                     bool asynchronous);
  // Waits for the copy. Once.
  std::vector<StreamPrediction> take();

 private:
  GctOutput host_;
  std::optional<c10::Event> arrived_;
  std::vector<StreamPrediction> predictions_;
};

struct StreamWindowPlace {
  int window = 0;                // from 0
  std::int64_t first_frame = 0;  // position in the stream
  std::int64_t scale_frames = 0;
  int keyframe_interval = 1;   // 0 = by motion
  std::int64_t most_kept = 0;  // frames that it will keep; 0 = unknown
};

class StreamWindow {
 public:
  StreamWindow(std::shared_ptr<const Gct> network, const StreamOptions& options,
               const StreamWindowPlace& place, int width, int height);

  // The scale frames together (fewer than planned, where the stream ends before), or the next frame
  // alone. Their predictions in order, as the window has them. All is as before if it throws.
  PendingPredictions run(std::span<const BytePicture> pictures);

  const StreamWindowPlace& place() const { return place_; }
  std::int64_t frames() const { return frames_; }
  StreamMemory& memory() { return memory_; }
  const StreamMemory& memory() const { return memory_; }

  // StreamSession::prefill.
  void prefill(std::int64_t kept_frames);

  // Of the last keyframe, for keyframes by motion.
  struct LastKeyframe {
    std::array<double, 9> pose{};
    std::int64_t frame = 0;  // in the window
  };
  // What a checkpoint has of it besides the memory.
  struct Progress {
    std::int64_t frames = 0;
    std::int64_t scale_frames = 0;
    std::optional<LastKeyframe> last_keyframe;
  };
  Progress progress() const { return {frames_, place_.scale_frames, last_keyframe_}; }
  void restore(const Progress& progress, const StreamMemory::Tensors& memory, std::int64_t kept,
               std::int64_t camera_tokens);

 private:
  bool by_motion() const { return place_.keyframe_interval == 0; }
  FrameRole planned_role() const;
  double motion_threshold_px() const;
  // What a frame turns out to be once its motion has been seen, and the keyframe that the next
  // ones are compared with.
  struct Decision {
    FrameRole role = FrameRole::scale;
    std::optional<LastKeyframe> last_keyframe;
  };
  Decision decided(FrameRole planned, const GctOutput& output, std::int64_t count) const;
  bool moved_enough(const StreamPrediction& prediction) const;
  GctOutput through_network(std::span<const BytePicture> pictures);
  PendingPredictions on_the_way(const GctOutput& output, FrameRole role, std::int64_t count) const;

  std::shared_ptr<const Gct> network_;
  StreamOptions options_;
  StreamWindowPlace place_;
  int width_, height_;
  StreamMemory memory_;
  std::int64_t frames_ = 0;
  std::optional<LastKeyframe> last_keyframe_;
};

}  // namespace skyfix
