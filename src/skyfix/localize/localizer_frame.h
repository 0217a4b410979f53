// What the stages of Localizer hand to each other. For its own sources.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "skyfix/localize/localizer.h"

namespace skyfix {

// Adds the milliseconds of its life to a telemetry entry.
class StageTimer {
 public:
  StageTimer(FixTelemetry& telemetry, const char* stage)
      : slot_(telemetry.timing_ms[stage]), begin_(std::chrono::steady_clock::now()) {}
  ~StageTimer() {
    slot_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_)
                 .count();
  }

 private:
  double& slot_;
  std::chrono::steady_clock::time_point begin_;
};

// `text` is one line of the record, whatever a library put into it.
inline void fail(Fix& fix, FixStatus status, Reason reason, std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  fix.status = status;
  fix.reason = reason;
  fix.reason_text = std::move(text);
  fix.pose.reset();
}

// The first pose from one choice of turns.
struct Localizer::Attempt {
  std::vector<TurnedCandidate> turned;
  std::vector<MapPair> pairs;
  std::vector<PointPair> points;  // the same for the solver
  PoseEstimate first;
  PoseEvidence evidence;
};

// Values that the stages hand on. `done` ends the pipeline early.
struct Localizer::Frame {
  Frame(const SourceFrame& from, const TrackState& memory) : source(from), track(memory) {}

  Fix fix;
  const SourceFrame& source;
  const TrackState& track;
  PhotoMetadata metadata;
  QueryCamera camera;
  Image grey;  // either or both, as matcher and retriever want
  Image colour;
  std::unique_ptr<MapMatcher::Query> query;
  std::vector<std::uint32_t> candidate_images;
  std::vector<TurnedCandidate> turned;  // those that are matched
  std::vector<MapPair> pairs;           // first matches
  PoseEstimate first;                   // pose from the first matches
  PoseEvidence evidence;                // of the first pose
  int expected = 0;
  PoseEstimate final;  // refined over the guided pairs
  std::vector<PointPair> final_pairs;
  bool done = false;

  void stop(FixStatus status, Reason reason, std::string text) {
    fail(fix, status, reason, std::move(text));
    done = true;
  }
};

}  // namespace skyfix
