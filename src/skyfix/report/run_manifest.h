// run.json: what a run was made with, and how it ended (docs/formats.md, "Run manifest").
//
// {schema: "skyfix-run-1", state: running | finished | cancelled | stopped, stopped_because,
//  configuration, configuration_sha256, about, started, resumed: [times], finished,
//  counts: {frames, ok, rejected, failed, skipped}, reasons: {name: count}, memory_failures,
//  memory}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/localize/fix.h"
#include "skyfix/report/json_fields.h"

namespace skyfix {

inline constexpr std::string_view kRunSchema = "skyfix-run-1";               // localize
inline constexpr std::string_view kStreamRunSchema = "skyfix-stream-run-1";  // reconstruct

// Frames by what became of them.
struct RunCounts {
  std::int64_t frames = 0;
  std::map<FixStatus, std::int64_t> by_status;
  std::map<Reason, std::int64_t> by_reason;

  void add(const Fix& fix);
  std::int64_t with(FixStatus status) const;
  // Frames that ended for want of memory.
  std::int64_t memory_failures() const;
};

// What the frames say of memory, put together.
struct RunMemory {
  std::int64_t retries = 0;
  std::int64_t frames_with_retries = 0;
  std::int64_t reference_hits = 0;
  std::int64_t reference_misses = 0;
  // The owners are those of the frame with the highest sum; the rest are highest values. Absent
  // where no frame used a device.
  std::optional<DevicePeaks> peaks;

  void add(const FixTelemetry& telemetry);
};

// Hex SHA-256 of a configuration; the order of keys in objects does not matter.
std::string configuration_hash(const Json& configuration);

// One line for each value that differs or stands on one side only, as
// "options.seed: recorded 1, now 2"; empty when both are equal.
std::vector<std::string> configuration_differences(const Json& recorded, const Json& now);

// Adds counts, reasons and memory_failures.
void write_counts(const RunCounts& counts, Json& manifest);

// Adds `memory`: the limits it ran under (as given: device, budget_mib, cap_mib), then peaks and
// retries.
void write_memory(const RunMemory& memory, const Json& limits, Json& manifest);

// The time now as "2025-03-01T12:34:56Z".
std::string utc_now();

// Checks schema and configuration hash. Throws Error(bad_run).
Json parse_manifest(std::string_view text, const std::filesystem::path& file,
                    std::string_view schema = kRunSchema);

}  // namespace skyfix
