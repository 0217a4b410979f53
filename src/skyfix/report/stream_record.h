// The record of one input frame of a reconstruction: one JSON object a line, whatever happened to
// the frame (docs/formats.md, "Records of a reconstruction"). Trajectory, COLMAP model and exports
// are made from these.
//
// Lengths are in the stream's own unit: "arbitrary", not metres. As in localize's records: no NaN,
// doubles survive a round trip, quaternions w first with the first component that is not zero
// positive, names UTF-8.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/report/json_fields.h"
#include "skyfix/report/record.h"
#include "skyfix/stream/stream_frame.h"

namespace skyfix {

inline constexpr std::string_view kStreamRecordSchema = "skyfix-stream-record-1";

// Depth written beside the record.
struct DepthFile {
  std::string file;           // relative to the run folder
  std::string format;         // "png" (16 bit, 0 = none), "npy" (float32)
  double units_per_step = 1;  // depth = value * this
};

// What an ok frame has.
struct StreamView {
  GctView view;  // cam_from_world, cameras at the network's and the source's size
  GctFrameMap map;
  std::int64_t position = 0;
  FrameRole role = FrameRole::scale;
  int window = 0;
  std::int64_t keys_seen = 0;
  double median_confidence = 0;     // of pixels that are not sky
  double confidence_threshold = 0;  // the cloud's
  double share_above = 0;           // of pixels that are not sky
  std::optional<DepthFile> depth;
};

struct StreamTelemetry {
  std::map<std::string, double> timing_ms;
  std::optional<double> latency_ms;  // live: from arrival to result
  std::string host;
};

struct StreamRecord {
  std::string name;
  std::int64_t index = 0;
  std::optional<std::int64_t> time_ns;
  StreamStatus status = StreamStatus::failed;
  std::optional<Reason> reason;  // absent exactly when ok
  std::string reason_text;
  std::optional<StreamView> view;  // present exactly when ok
  std::vector<std::string> warnings;
  StreamTelemetry telemetry;
};

// Throws Error(internal) for a frame that contradicts itself (ok with a reason or a pose that is
// not finite, not ok without a reason).
StreamRecord stream_record(const StreamFrame& frame, double confidence_threshold,
                           const std::optional<DepthFile>& depth, const RecordHost& host);

Json stream_record_json(const StreamRecord& record);

// What equal runs have in common: the line without `telemetry`. Throws Error(bad_run) for a line
// that is not such a record.
std::string canonical_stream_record_line(std::string_view line);

// Back from a line; equal to what was written. `where` (e.g. "line 12") and `file` go into
// messages. Throws Error(bad_run).
StreamRecord parse_stream_record(std::string_view line, const std::string& where,
                                 const std::filesystem::path& file);

}  // namespace skyfix
