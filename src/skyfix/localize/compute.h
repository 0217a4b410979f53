// What a run computes with: the device, its memory, and the matcher on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/localize/localizer.h"
#include "skyfix/localize/match_context.h"
#include "skyfix/match/pool_matcher.h"
#include "skyfix/memory/ledger.h"
#include "skyfix/memory/plan_localize.h"

namespace skyfix {

struct ComputeOptions {
  std::string device =
      "auto";  // auto, cpu, cuda; host = host memory in a device's place, for tests
  std::optional<std::uint64_t> gpu_bytes;   // --gpu-memory
  std::optional<std::uint64_t> host_bytes;  // --host-memory
  // References kept on the device from frame to frame, at most; none = 8, or 4 up to a budget of
  // 8 GiB; 0 = off.
  std::optional<std::uint64_t> cached_references;
  FaultPlan faults;
  bool forbids_allocations = false;  // --no-allocation-after: only a device has any to forbid
  // What will be matched, for the plan; none = not known, and nothing is planned.
  std::optional<LocalizeRequest> shape;
};

// Null but for the matcher when the CPU computes alone.
struct Compute {
  std::string description = "cpu";  // of the device, for the manifest
  std::uint64_t budget_bytes = 0;   // of device memory; 0 = none
  std::vector<std::string> notes;   // what was assumed, clamped or ignored, a sentence each
  std::optional<LocalizePlan> plan;
  std::unique_ptr<Device> device;
  std::unique_ptr<Ledger> ledger;
  std::unique_ptr<MatchKernels> kernels;
  std::unique_ptr<PoolMatcher> matcher;
  CacheLimits network_features{UINT64_MAX, 8};  // of map photos: as many as of references
  MatchContext context() const { return {*matcher, ledger.get(), kernels.get(), network_features}; }
};

// Throws Error(bad_option) unless it is auto, cpu, cuda or host.
void require_device_name(const std::string& name);

// False where the CPU computes alone: nothing of a device's memory is to be planned then.
bool uses_device(const ComputeOptions& options);

// Throws Error(bad_option) for an unknown device or a budget that needs a device where there is
// none, Error(no_gpu) where a GPU is asked for and cannot be used.
Compute open_compute(const ComputeOptions& options);

// What a run over photos of this size will match: reference rows and pool are the map's own.
LocalizeRequest shape_of_run(const MapFeatures& features, const LocalizeOptions& options,
                             int width_px, int height_px, std::int64_t frames);

// How many references and bytes of them are kept under a cap (0 = no cap).
CacheLimits reference_cache_limits(std::optional<std::uint64_t> references,
                                   std::uint64_t budget_bytes, std::uint64_t cap_bytes);

// Throws Error(bad_option) when the process cannot stay within `host_bytes` (--host-memory): what
// it holds now and what a photo of that size takes, shrunk to `long_side_px` for its features,
// exceed them together.
void require_host_memory(std::uint64_t host_bytes, int width_px, int height_px, int long_side_px);

}  // namespace skyfix
