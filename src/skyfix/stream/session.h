// One stream through the network: frames in, predictions out, memory bounded by the options and not
// by the length of the stream (specification: gctstream.md sections 6.3, 10, 11, 14).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/models/gct/gct.h"
#include "skyfix/nn/picture_view.h"
#include "skyfix/stream/stream_options.h"

namespace skyfix {

// Of one frame, on the host. In windowed mode already in the first window's frame and scale.
struct StreamPrediction {
  std::int64_t position = 0;  // from 0, in the order of push()
  FrameRole role = FrameRole::scale;
  int window = 0;
  std::array<double, 9>
      pose{};     // world_from_camera: t, q (x y z w, as predicted), fov_h, fov_w rad
  int width = 0;  // of the maps, network px
  int height = 0;
  std::vector<float> depth;       // [height, width], along the camera's z
  std::vector<float> confidence;  // [height, width], above 1
  std::vector<float> points;      // [height, width, 3] with the point head, else empty
  std::vector<float> points_confidence;
  std::int64_t keys_seen = 0;  // by its global blocks
  std::map<std::string, double> timing_ms = {};
};

// Windowed: how a window was laid on the one before it.
struct WindowAlignment {
  int window = 0;
  std::int64_t first_frame = 0;  // position in the stream
  std::int64_t frames = 0;
  std::int64_t anchor_frame = -1;  // position; -1 for the first window and without overlap
  double scale = 1;
  std::array<double, 16> world_from_window{};  // row-major; the scale is not multiplied in
  std::int64_t depth_samples = 0;
  // Over the overlap: root mean square distance of camera centres after alignment (units of the
  // stream) and the median of |depth_a / (s depth_b) - 1|; nullopt without overlap.
  std::optional<double> centre_residual;
  std::optional<double> depth_residual;
};

struct StreamFigures {
  std::int64_t frames = 0;         // predicted
  std::int64_t kept = 0;           // of the present window
  std::int64_t whole_frames = 0;   // remembered whole now
  std::int64_t tail_frames = 0;    // with their special tokens only
  std::int64_t camera_tokens = 0;  // in each of the camera head's caches
  std::uint64_t cache_bytes = 0;   // of keys and values on the device, as allocated
  std::vector<WindowAlignment> windows;
};

class StreamSession {
 public:
  using Sink = std::function<void(StreamPrediction&&)>;

  // `frames`: how many will come; 0 = unknown. Throws Error(bad_option).
  StreamSession(std::shared_ptr<const Gct> network, const StreamOptions& options,
                std::int64_t frames = 0);
  ~StreamSession();

  // `rgb`: as preprocess.h makes it; every frame of a session has one size (Error(bad_option)
  // otherwise). Predictions that are final go to `sink` in order: scale frames together, later ones
  // at once; windowed, those of an overlap when the next window has them. Throws OutOfDeviceMemory
  // (the session is then as before the call), DeviceFailure, what `sink` throws.
  void push(const PictureView& rgb, const Sink& sink);
  // No more frames: gives what is left.
  void finish(const Sink& sink);

  // For measuring: as if so many frames of this size had been kept, with random keys and values, so
  // that the next frame meets the steady state of a long stream. Before the first push().
  void prefill(std::int64_t kept_frames, int width, int height);

  StreamFigures figures() const;
  int keyframe_interval() const;  // 0 = by motion

  // Windowed: the next picture begins a new window, so that a checkpoint made now needs nothing of
  // the network's memory.
  bool at_window_end() const;

  // Everything the session remembers, to go on later to the bit on the same kind of device. Bound
  // to network, options and size: restore throws Error(run_mismatch) for another, Error(bad_run)
  // for a damaged file.
  void save(const std::filesystem::path& file) const;
  void restore(const std::filesystem::path& file);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skyfix
