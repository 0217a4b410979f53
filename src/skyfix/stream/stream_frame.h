// The result for one input frame of a reconstruction, whatever happened to it. Records, clouds and
// trajectories are made from this. Lengths are in the stream's own unit ("arbitrary"): nothing
// makes it metric.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/image/image.h"
#include "skyfix/nn/resample.h"
#include "skyfix/stream/preprocess.h"
#include "skyfix/stream/session.h"

namespace skyfix {

enum class StreamStatus { ok, rejected, failed, skipped };
std::string_view stream_status_name(StreamStatus status);

struct StreamFrame {
  std::string name;        // as the source names it
  std::int64_t index = 0;  // as the source counts
  std::optional<std::int64_t> time_ns;
  StreamStatus status = StreamStatus::failed;
  std::optional<Reason> reason;  // absent exactly when ok
  std::string reason_text;

  // Only when ok:
  std::int64_t position = 0;  // from 0, among the frames the network saw
  FrameRole role = FrameRole::scale;
  int window = 0;
  GctView view;
  GctFrameMap map;
  StreamPrediction prediction;    // maps at the network's size
  BytePicture picture;            // what the network saw, for colours
  std::vector<std::uint8_t> sky;  // [height, width], 1 = sky; empty = not known
  double median_confidence = 0;   // of pixels that are not sky

  // Figures that may differ between equal runs.
  std::map<std::string, double> timing_ms;
  std::optional<double> latency_ms;  // live: from arrival to result
  std::vector<std::string> warnings;
};

}  // namespace skyfix
