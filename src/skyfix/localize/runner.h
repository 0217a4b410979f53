// The batch: frames in order, one Fix each, nothing lost. Results leave through a sink as they are
// made; a run can be stopped after the frame in hand and gone on with later.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/base/progress.h"
#include "skyfix/frames/frame_source.h"
#include "skyfix/localize/fix.h"
#include "skyfix/localize/localizer.h"

namespace skyfix {

// Takes each finished fix, in input order. Throwing ends the run.
using FixSink = std::function<void(const Fix&)>;
// The same with the frame that it is of.
using FrameSink = std::function<void(const Fix&, const SourceFrame&)>;

// What an earlier part of the same run recorded, in input order.
struct RecordedFix {
  std::string name;
  std::int64_t index = 0;
  bool ok = false;
  Rigid3 cam_from_world;
};

struct BatchResult {
  std::size_t done = 0;  // frames worked on now
  bool cancelled = false;
  std::optional<Error> source_failure;  // why no more frames came, where that is no orderly end
  std::string device_failure;  // what the device said when it failed and the run ended; or empty
};

// Localizes the frames of `source` behind the recorded ones, which it gives again. The recorded
// fixes rebuild the run's memory (temporal candidates, joint refinement), so that a resumed run
// gives the records of an uninterrupted one. `cancel` is looked at between frames, and ends the
// waiting for a live one. Logs one line a frame. A device that fails ends the run before its frame
// is recorded. Throws what the sink throws, AllocationForbidden, and Error(run_mismatch) when the
// source no longer gives the recorded frames.
BatchResult run_batch(const Localizer& localizer, FrameSource& source,
                      std::span<const RecordedFix> recorded, const FrameSink& sink,
                      Progress& progress, const std::atomic<bool>& cancel);
// The same for photos.
BatchResult run_batch(const Localizer& localizer, std::span<const InputPhoto> photos,
                      std::span<const RecordedFix> recorded, const FixSink& sink,
                      Progress& progress, const std::atomic<bool>& cancel);

}  // namespace skyfix
