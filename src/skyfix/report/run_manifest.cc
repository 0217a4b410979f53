#include "skyfix/report/run_manifest.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ctime>

#include "skyfix/base/hash.h"
#include "skyfix/report/record.h"

namespace skyfix {
namespace {

constexpr std::size_t kShownValue = 80;

std::string shown(const Json& value) {
  std::string text = json_line(value);
  if (text.size() > kShownValue) text = text.substr(0, kShownValue) + "...";
  return text;
}

// Objects are compared key by key, everything else as a whole.
void compare(const std::string& place, const Json& recorded, const Json& now,
             std::vector<std::string>& differences) {
  const auto inside = [&](const std::string& key) {
    return place.empty() ? key : place + "." + key;
  };
  if (recorded.is_object() && now.is_object()) {
    for (const auto& [key, value] : recorded.items()) {
      if (now.contains(key)) {
        compare(inside(key), value, now[key], differences);
      } else {
        differences.push_back(inside(key) + ": recorded " + shown(value) + ", now absent");
      }
    }
    for (const auto& [key, value] : now.items()) {
      if (!recorded.contains(key)) {
        differences.push_back(inside(key) + ": recorded without, now " + shown(value));
      }
    }
  } else if (recorded != now) {
    differences.push_back(place + ": recorded " + shown(recorded) + ", now " + shown(now));
  }
}

}  // namespace

void RunCounts::add(const Fix& fix) {
  ++frames;
  ++by_status[fix.status];
  if (fix.reason) ++by_reason[*fix.reason];
}

std::int64_t RunCounts::with(FixStatus status) const {
  const auto found = by_status.find(status);
  return found == by_status.end() ? 0 : found->second;
}

std::int64_t RunCounts::memory_failures() const {
  const auto found = by_reason.find(Reason::out_of_memory);
  return found == by_reason.end() ? 0 : found->second;
}

void RunMemory::add(const FixTelemetry& telemetry) {
  retries += telemetry.memory_retries;
  frames_with_retries += telemetry.memory_retries > 0 ? 1 : 0;
  reference_hits += telemetry.reference_hits;
  reference_misses += telemetry.reference_misses;
  if (!telemetry.peaks) return;
  const DevicePeaks& frame = *telemetry.peaks;
  if (!peaks) peaks = frame;
  if (frame.booked_mib > peaks->booked_mib) {
    peaks->booked_mib = frame.booked_mib;
    peaks->by_owner_mib = frame.by_owner_mib;
  }
  peaks->allocated_mib = std::max(peaks->allocated_mib, frame.allocated_mib);
  peaks->reserved_mib = std::max(peaks->reserved_mib, frame.reserved_mib);
  peaks->used_mib = std::max(peaks->used_mib, frame.used_mib);  // none is the least
}

std::string configuration_hash(const Json& configuration) {
  // The unordered type sorts its keys.
  const nlohmann::json sorted = configuration;
  return sha256_hex(sorted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::vector<std::string> configuration_differences(const Json& recorded, const Json& now) {
  std::vector<std::string> differences;
  compare("", recorded, now, differences);
  return differences;
}

void write_counts(const RunCounts& counts, Json& manifest) {
  Json by_status;
  by_status["frames"] = counts.frames;
  for (const FixStatus status :
       {FixStatus::ok, FixStatus::rejected, FixStatus::failed, FixStatus::skipped}) {
    by_status[std::string(fix_status_name(status))] = counts.with(status);
  }
  Json by_reason = Json::object();
  for (const auto& [reason, count] : counts.by_reason) {
    by_reason[std::string(reason_name(reason))] = count;
  }
  manifest["counts"] = std::move(by_status);
  manifest["reasons"] = std::move(by_reason);
  manifest["memory_failures"] = counts.memory_failures();
}

void write_memory(const RunMemory& memory, const Json& limits, Json& manifest) {
  Json json = limits;
  json["gpu_peak_mib"] = memory.peaks ? Json(memory.peaks->booked_mib) : Json(nullptr);
  json["gpu_memory"] = memory.peaks ? device_peaks_json(*memory.peaks) : Json(nullptr);
  json["retries"] = memory.retries;
  json["frames_with_retries"] = memory.frames_with_retries;
  json["reference_cache"] = {{"hits", memory.reference_hits}, {"misses", memory.reference_misses}};
  manifest["memory"] = std::move(json);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Json parse_manifest(std::string_view text, const std::filesystem::path& file,
                    std::string_view schema) {
  const JsonSource source{Reason::bad_run, file};
  Json manifest = parse_json(text, source, "run manifest");
  const JsonFields fields(manifest, source, "run manifest");
  if (const std::string found = fields.text("schema"); found != schema) {
    const bool other_job = found == kRunSchema || found == kStreamRunSchema;
    fields.fail("schema", "must be \"" + std::string(schema) + "\", not \"" + found + "\": " +
                              (other_job ? "the run is of another job (localize, reconstruct)"
                                         : "the run was written by another version"));
  }
  const std::string hash = fields.text("configuration_sha256");
  if (configuration_hash(fields.object("configuration").value()) != hash) {
    fields.fail("configuration_sha256", "does not fit the configuration: the file was changed");
  }
  return manifest;
}

}  // namespace skyfix
