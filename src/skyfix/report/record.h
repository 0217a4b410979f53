// The master record: one JSON object for each input, whatever happened to it (docs/formats.md,
// "JSON lines"). Everything else that Skyfix writes about a frame derives from it.
//
// No NaN or infinity (null instead), doubles survive a round trip, quaternions are w first with
// w >= 0, names are UTF-8 (stray bytes as \xNN). Only a frame with status "ok" carries a pose:
// of a rejected frame's alternative the figures are kept and the pose is null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skyfix/localize/fix.h"
#include "skyfix/report/json_fields.h"

namespace skyfix {

inline constexpr std::string_view kRecordSchema = "skyfix-record-1";

struct Record {
  Fix fix;
  // Exposure time, nanoseconds since 1970 (UTC) or since the start of a video; photos have none.
  std::optional<std::int64_t> time_ns;
};

// Goes to `telemetry` beside the fix's own.
struct RecordHost {
  std::string host;
};

// Throws Error(internal) for a fix that contradicts itself: ok without a finite pose or with a
// reason, not ok without a reason.
Json record_json(const Record& record, const RecordHost& host);

// by_owner_mib (at the peak), allocated_peak_mib, reserved_peak_mib, used_mib; as in telemetry's
// gpu_memory.
Json device_peaks_json(const DevicePeaks& peaks);

// One line, without the line end.
std::string json_line(const Json& json);

// The part of a record that equal runs have in common, as a line without the line end: `telemetry`
// is left out, and with it vpr_retrieval.query_descriptor_source and query_descriptor_cache, which
// say whether the descriptor was computed or found in the cache. Throws Error(bad_run) for a line
// that is not a record.
std::string canonical_record_line(std::string_view line);

}  // namespace skyfix
