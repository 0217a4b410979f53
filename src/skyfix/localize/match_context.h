// What localizing matches with: handed in by the caller, who decides on device and budget.
#pragma once

#include "skyfix/localize/fix.h"
#include "skyfix/match/pool_matcher.h"
#include "skyfix/memory/ledger.h"

namespace skyfix {

// All must outlive whoever has it. The matcher serves one frame at a time.
struct MatchContext {
  PoolMatcher& matcher;
  Ledger* ledger = nullptr;                     // of the matcher's device; null = the CPU alone
  MatchKernels* kernels = nullptr;              // of the ledger's device
  CacheLimits network_features{UINT64_MAX, 8};  // of map photos, kept from frame to frame
};

// Watches the device's memory while a frame is worked on; only one at a time.
class FrameMemory {
 public:
  // Starts the ledger's peaks anew.
  explicit FrameMemory(const MatchContext& context);
  // Notes device, peaks and cache hits since the start.
  void write(FixTelemetry& telemetry) const;

 private:
  const MatchContext& context_;
  CacheFigures before_;
};

// Adds what running out of memory cost a match; a network's numbers may be others after some steps.
void note_retries(const RetryReport& retries, bool of_network, FixTelemetry& telemetry);

}  // namespace skyfix
