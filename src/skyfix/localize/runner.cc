#include "skyfix/localize/runner.h"

#include <set>
#include <string>

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

// Replays what was recorded into the run's memory; re-reads the last good frames for the window.
void replay(const Localizer& localizer, std::span<const InputPhoto> photos,
            std::span<const RecordedFix> recorded, TrackState& track, WindowMemory& window) {
  std::size_t good = 0;
  for (const RecordedFix& fix : recorded) good += fix.ok ? 1 : 0;
  const auto wanted = static_cast<std::size_t>(localizer.options().ba_window);
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    if (!recorded[i].ok) continue;
    if (window.enabled() && good <= wanted) {
      std::vector<PointPair> pairs;
      const Fix fix = localizer.localize(photos[i], track, &pairs);
      if (fix.status == FixStatus::ok) {
        window.push(fix, std::move(pairs));
        window.set_newest_pose(recorded[i].cam_from_world);
      }
    }
    --good;
    track.add({recorded[i].index, recorded[i].name, recorded[i].cam_from_world});
  }
}

// The batch's working state.
struct Batch {
  const Localizer& localizer;
  const FixSink& sink;
  TrackState track;
  WindowMemory window;
  std::set<std::string> warnings_said;

  void work_on(const InputPhoto& photo) {
    std::vector<PointPair> pairs;
    Fix fix = localizer.localize(photo, track, &pairs);
    if (fix.status == FixStatus::ok) {
      if (window.enabled()) {
        localizer.refine_with_window(fix, window.push(fix, std::move(pairs)));
        window.set_newest_pose(fix.pose->cam_from_world);
      }
      track.add({fix.index, fix.name, fix.pose->cam_from_world});
    }
    sink(fix);
    log_line(fix);
    log_warnings(fix, warnings_said);
  }
};

}  // namespace

BatchResult run_batch(const Localizer& localizer, std::span<const InputPhoto> photos,
                      std::span<const RecordedFix> recorded, const FixSink& sink,
                      Progress& progress, const std::atomic<bool>& cancel) {
  BatchResult result;
  Batch batch{localizer, sink, {}, WindowMemory(localizer.options().ba_window), {}};
  progress.start("localizing", photos.size() - recorded.size());
  try {
    replay(localizer, photos, recorded, batch.track, batch.window);
    for (const InputPhoto& photo : photos.subspan(recorded.size())) {
      if (cancel) {
        result.cancelled = true;
        break;
      }
      batch.work_on(photo);
      ++result.done;
      progress.advance();
    }
  } catch (const DeviceFailure& failure) {
    result.device_failure = failure.what();
  }
  progress.finish();
  return result;
}

}  // namespace skyfix
