// The inside of a session. Windowed: the next window begins with the last pictures of the one
// before, computed anew; predictions that a later window will make again wait until it has.
#pragma once

#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "skyfix/stream/session.h"
#include "skyfix/stream/stream_window_torch.h"
#include "skyfix/stream/window_alignment.h"
#include "skyfix/stream/window_plan.h"

namespace skyfix {

struct StreamSession::State {
  State(std::shared_ptr<const Gct> gct, const StreamOptions& given, std::int64_t known_frames);

  // Runs whatever waits in `queue` and is complete. A picture leaves it when it has been computed.
  void drain(bool ending, const Sink& sink);
  void deliver(StreamPrediction&& prediction, const Sink& sink);
  void begin_window();
  void end_window(const Sink& sink);
  void note_taken(const PictureView& rgb);
  void align_shared(const Sink& sink);
  void give(StreamPrediction&& prediction, const Sink& sink);
  void give_held(std::int64_t but, const Sink& sink);
  void flush_in_flight(const Sink& sink);

  void restore(const TensorSource& source, const nlohmann::json& json);

  bool windowed() const { return options.mode == StreamMode::windowed; }
  bool by_motion() const { return interval == 0; }
  // May a later window predict this frame again? By motion nobody knows how long the window will
  // be, so its newest frames are always held.
  bool may_be_shared(std::int64_t position) const {
    return by_motion() || position - window_begin >= sizes.frames - sizes.overlap;
  }

  std::shared_ptr<const Gct> network;
  StreamOptions options;
  std::int64_t known_frames = 0;  // 0 = unknown
  int interval = 1;               // 0 = by motion
  WindowSizes sizes;              // windowed
  int width = 0, height = 0;      // of pictures; 0 before the first

  std::unique_ptr<StreamWindow> window;
  int window_number = 0;
  std::int64_t window_begin = 0;   // position in the stream
  std::int64_t taken = 0;          // pictures of the present window, computed or in the queue
  bool full = false;               // the present window: the next picture begins another
  std::deque<BytePicture> queue;   // to be computed
  std::deque<BytePicture> recent;  // the last `overlap` pictures taken: the next window's first
  std::optional<PendingPredictions> in_flight;
  std::vector<StreamPrediction> arrived;  // were in flight when a checkpoint was made

  std::int64_t predicted = 0;            // given to the sink
  WindowTransform transform;             // of the present window
  std::vector<StreamPrediction> before;  // overlap as the window before has it
  std::vector<StreamPrediction> shared;  // the same frames as this window has them, not yet aligned
  std::vector<StreamPrediction> held;    // aligned; the next window will predict them again
  std::vector<WindowAlignment> alignments;
};

}  // namespace skyfix
