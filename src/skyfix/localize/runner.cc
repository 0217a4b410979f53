#include "skyfix/localize/runner.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"

namespace skyfix {
namespace {

// Note "window memory": joint refinement needs the pairs of the last good frames. They are not
// recorded, because they can be had again: a frame's pairs depend only on the photo, the map and
// the fixes recorded before it.
class WindowMemory {
 public:
  explicit WindowMemory(int frames) : capacity_(frames) {}
  bool enabled() const { return capacity_ > 0; }

  // Adds the newest good frame and returns the window, oldest first.
  std::span<const WindowFrame> push(const Fix& fix, std::vector<PointPair> pairs) {
    frames_.push_back({*fix.camera, fix.pose->cam_from_world, std::move(pairs)});
    if (frames_.size() > static_cast<std::size_t>(capacity_)) frames_.erase(frames_.begin());
    return frames_;
  }
  void set_newest_pose(const Rigid3& cam_from_map) { frames_.back().cam_from_map = cam_from_map; }

 private:
  int capacity_;
  std::vector<WindowFrame> frames_;
};

void log_line(const Fix& fix) {
  const RetrievalReport& retrieval = fix.retrieval;
  std::string outcome(fix_status_name(fix.status));
  if (fix.reason) outcome += " (" + std::string(reason_name(*fix.reason)) + ")";
  log::info("{} descriptor={} temporal={} faiss={} selected={} inliers={} {}", fix.name,
            retrieval.query_descriptor_source.empty() ? "none" : retrieval.query_descriptor_source,
            retrieval.num_temporal_candidates, retrieval.num_faiss_candidates,
            retrieval.selected_source.empty() ? "none" : retrieval.selected_source, fix.inliers,
            outcome);
}

// The fix's warnings, each text once a run: hundreds of photos share a camera.
void log_warnings(const Fix& fix, std::set<std::string>& said) {
  for (const std::string& warning : fix.warnings) {
    if (said.insert(warning).second) log::warn("{}: {}", fix.name, warning);
  }
}

// The next frame, kept apart from what else may fail.
std::optional<SourceFrame> next_of(FrameSource& source, BatchResult& result) {
  try {
    return source.next();
  } catch (const Error& error) {
    result.source_failure = error;
    return std::nullopt;
  }
}

// Replays what was recorded into the run's memory; the last good frames are localized again for the
// window.
void replay(const Localizer& localizer, FrameSource& source, std::span<const RecordedFix> recorded,
            TrackState& track, WindowMemory& window) {
  std::size_t good = 0;
  for (const RecordedFix& fix : recorded) good += fix.ok ? 1 : 0;
  const auto wanted = static_cast<std::size_t>(localizer.options().ba_window);
  for (const RecordedFix& record : recorded) {
    const auto frame = source.next();
    if (!frame || frame->index != record.index) {
      throw Error(Reason::run_mismatch, "the input no longer gives the recorded frame " +
                                            record.name + ": give another --out");
    }
    if (!record.ok) continue;
    if (window.enabled() && good <= wanted) {
      std::vector<PointPair> pairs;
      const Fix fix = localizer.localize(*frame, track, &pairs);
      if (fix.status == FixStatus::ok) {
        window.push(fix, std::move(pairs));
        window.set_newest_pose(record.cam_from_world);
      }
    }
    --good;
    track.add({record.index, record.name, record.cam_from_world});
  }
}

// Ends the waiting for a live frame when the run is cancelled: a signal's handler cannot.
class CancelWatch {
 public:
  CancelWatch(FrameSource& source, const std::atomic<bool>& cancel) {
    if (source.info().kind != FrameSourceKind::live) return;
    thread_ = std::jthread([&source, &cancel](const std::stop_token& over) {
      while (!over.stop_requested()) {
        if (cancel) return source.stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
  }

 private:
  std::jthread thread_;
};

void note_latency(const SourceFrame& frame, Fix& fix) {
  if (!frame.arrived_steady_ns) return;
  const std::chrono::duration<double, std::nano> now =
      std::chrono::steady_clock::now().time_since_epoch();
  fix.telemetry.latency_ms = (now.count() - double(*frame.arrived_steady_ns)) / 1e6;
}

// The batch's working state.
struct Batch {
  const Localizer& localizer;
  const FrameSink& sink;
  TrackState track;
  WindowMemory window;
  std::set<std::string> warnings_said;

  void work_on(const SourceFrame& frame) {
    std::vector<PointPair> pairs;
    Fix fix = localizer.localize(frame, track, &pairs);
    if (fix.status == FixStatus::ok) {
      if (window.enabled()) {
        localizer.refine_with_window(fix, window.push(fix, std::move(pairs)));
        window.set_newest_pose(fix.pose->cam_from_world);
      }
      track.add({fix.index, fix.name, fix.pose->cam_from_world});
    }
    note_latency(frame, fix);
    sink(fix, frame);
    log_line(fix);
    log_warnings(fix, warnings_said);
  }
};

}  // namespace

BatchResult run_batch(const Localizer& localizer, FrameSource& source,
                      std::span<const RecordedFix> recorded, const FrameSink& sink,
                      Progress& progress, const std::atomic<bool>& cancel) {
  BatchResult result;
  Batch batch{localizer, sink, {}, WindowMemory(localizer.options().ba_window), {}};
  const CancelWatch watch(source, cancel);
  const auto total = static_cast<std::size_t>(source.info().frames.value_or(0));
  progress.start("localizing", total - std::min(total, recorded.size()));
  try {
    replay(localizer, source, recorded, batch.track, batch.window);
    while (const auto frame = next_of(source, result)) {
      if (cancel) {
        result.cancelled = true;
        break;
      }
      batch.work_on(*frame);
      ++result.done;
      progress.advance();
    }
  } catch (const DeviceFailure& failure) {
    result.device_failure = failure.what();
  }
  // A live source that was stopped looks like one that ended.
  if (cancel && source.info().kind == FrameSourceKind::live) result.cancelled = true;
  progress.finish();
  return result;
}

BatchResult run_batch(const Localizer& localizer, std::span<const InputPhoto> photos,
                      std::span<const RecordedFix> recorded, const FixSink& sink,
                      Progress& progress, const std::atomic<bool>& cancel) {
  const auto source = photo_frames({photos.begin(), photos.end()});
  const FrameSink with_frame = [&](const Fix& fix, const SourceFrame&) { sink(fix); };
  return run_batch(localizer, *source, recorded, with_frame, progress, cancel);
}

}  // namespace skyfix
