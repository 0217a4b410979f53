// The streaming job: frames from a source through the network, one StreamFrame each, in input
// order.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "skyfix/base/progress.h"
#include "skyfix/frames/frame_source.h"
#include "skyfix/models/gct/gct.h"
#include "skyfix/stream/session.h"
#include "skyfix/stream/sky.h"
#include "skyfix/stream/stream_frame.h"

namespace skyfix {

struct ReconstructOptions {
  StreamOptions stream;
  int image_size = 518;
  GctFit fit = GctFit::crop;
  double max_megapixels = 400;
  SkyOptions sky;
  // Every n predicted frames the session's state is written to `checkpoint_folder`; 0 = off. Two
  // are kept.
  std::int64_t checkpoint_every = 0;
  std::filesystem::path checkpoint_folder = {};
  // Where a resumed run goes on: frames of the source that are recorded already. Those before the
  // checkpoint (or the last window's beginning) are not computed again.
  std::int64_t recorded_frames = 0;
  void validate() const;
};

// Takes each finished frame, in input order. Throwing ends the run.
using StreamSink = std::function<void(StreamFrame&&)>;

struct StreamResult {
  std::int64_t done = 0;  // frames given to the sink
  bool cancelled = false;
  std::string ended_by;  // a source that was lost, a device that failed; empty = all went well
  std::int64_t resumed_from = 0;  // position in the stream where computing began again
  std::string resume_note;        // why there: checkpoint, window boundary, beginning
  StreamFigures figures;
  FrameSourceFigures source;
};

// Decoding and preprocessing run ahead of the network in a bounded queue. A frame that cannot be
// read is recorded as failed and the stream goes on without it. `cancel` is looked at between
// frames. Throws Error(no_input) when the source gives nothing at all, and what the sink throws.
StreamResult reconstruct(const std::shared_ptr<const Gct>& network, FrameSource& source,
                         const ReconstructOptions& options, const StreamSink& sink,
                         Progress& progress, const std::atomic<bool>& cancel);

}  // namespace skyfix
