// The batch: photos in order, one Fix each, nothing lost. Results leave through a sink as they are
// made; a run can be stopped after the frame in hand and gone on with later.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "skyfix/base/progress.h"
#include "skyfix/localize/fix.h"
#include "skyfix/localize/localizer.h"

namespace skyfix {

// Takes each finished fix, in input order. Throwing ends the run.
using FixSink = std::function<void(const Fix&)>;

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
  std::string device_failure;  // what the device said when it failed and the run ended; or empty
};

// Localizes photos[recorded.size()..]. The recorded fixes rebuild the run's memory (temporal
// candidates, joint refinement), so that a resumed run gives the records of an uninterrupted one.
// `cancel` is looked at between frames. Logs one line a frame. A device that fails ends the run
// before its frame is recorded. Throws what the sink throws, and AllocationForbidden.
BatchResult run_batch(const Localizer& localizer, std::span<const InputPhoto> photos,
                      std::span<const RecordedFix> recorded, const FixSink& sink,
                      Progress& progress, const std::atomic<bool>& cancel);

}  // namespace skyfix
