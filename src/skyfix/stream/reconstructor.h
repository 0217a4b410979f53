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
#include "skyfix/memory/device.h"
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
  // Every n frames the session's state is written to `checkpoint_folder`; 0 = off. A windowed run
  // writes a small one at the end of each window in any case (nothing of a full window's memory is
  // needed any more). Two are kept. An empty folder: none at all.
  std::int64_t checkpoint_every = 0;
  std::filesystem::path checkpoint_folder = {};
  // Frames that an earlier part of the run has recorded: they are not given to the sink again. What
  // the network has to see again, because no checkpoint holds it, is computed again.
  std::int64_t recorded_frames = 0;
  // What the network computes on; gives back what its allocator merely holds before a frame is
  // tried again for want of memory. Null: the host.
  Device* device = nullptr;
  void validate() const;
};

// Takes each finished frame, in input order. Throwing ends the run.
using StreamSink = std::function<void(StreamFrame&&)>;

struct StreamResult {
  std::int64_t done = 0;  // frames given to the sink
  bool cancelled = false;
  // A source that was lost, a device that failed or had no memory left; empty = all went well.
  std::string ended_by;
  std::optional<Reason> ended_reason;
  std::int64_t resumed_from = 0;  // frame of the source, from 0, where computing began again
  std::string resume_note;        // why there, a sentence
  StreamFigures figures;
  FrameSourceFigures source;
};

// Decoding and preprocessing run ahead of the network in a bounded queue. A frame that cannot be
// read is recorded as failed and the stream goes on without it. The first picture decides the size
// that the network sees: smaller ones are padded with white, one that would not fit is rejected
// (unsupported_image). A frame that memory ran out for is computed once more and carries a warning;
// the second time ends the run, since a stream's memory cannot move elsewhere and heads take frame
// by frame already. `cancel` is looked at between frames. Throws Error(no_input) when the source
// gives nothing at all, and what the sink throws.
StreamResult reconstruct(const std::shared_ptr<const Gct>& network, FrameSource& source,
                         const ReconstructOptions& options, const StreamSink& sink,
                         Progress& progress, const std::atomic<bool>& cancel);

}  // namespace skyfix
