#include "skyfix/localize/match_context.h"

namespace skyfix {
namespace {

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

DevicePeaks peaks_of(const LedgerFigures& figures) {
  DevicePeaks peaks;
  peaks.booked_mib = mib(figures.peak_bytes);
  peaks.allocated_mib = mib(figures.device.peak_allocated_bytes);
  peaks.reserved_mib = mib(figures.device.peak_reserved_bytes);
  if (figures.device.used_bytes > 0) peaks.used_mib = mib(figures.device.used_bytes);
  for (const auto& [owner, of_owner] : figures.by_owner) {
    peaks.by_owner_mib[owner] = mib(of_owner.bytes_at_peak);
  }
  return peaks;
}

}  // namespace

FrameMemory::FrameMemory(const MatchContext& context)
    : context_(context), before_(context.matcher.cache_figures()) {
  if (context.ledger != nullptr) context.ledger->reset_peaks();
}

void FrameMemory::write(FixTelemetry& telemetry) const {
  telemetry.device = device_kind_name(context_.matcher.device());
  if (context_.ledger == nullptr) return;
  telemetry.peaks = peaks_of(context_.ledger->figures());
  const CacheFigures now = context_.matcher.cache_figures();
  telemetry.reference_hits = static_cast<std::int64_t>(now.hits - before_.hits);
  telemetry.reference_misses = static_cast<std::int64_t>(now.misses - before_.misses);
}

void note_retries(const RetryReport& retries, bool of_network, FixTelemetry& telemetry) {
  for (const RetryEvent& event : retries.events) {
    if (of_network && !retry_step_is_bit_equal_for_networks(event.step)) {
      telemetry.numerics = "equivalent";
    }
  }
  telemetry.memory_retries += static_cast<int>(retries.events.size());
  const std::string given_up = retries.given_up();
  if (given_up.empty()) return;
  if (!telemetry.memory_given_up.empty()) telemetry.memory_given_up += ", ";
  telemetry.memory_given_up += given_up;
}

}  // namespace skyfix
