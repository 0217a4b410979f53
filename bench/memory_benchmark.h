// `skyfix bench memory localize`: the matcher's memory over a long batch under a budget, frame by
// frame, through the ledger and the matcher that the product uses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/memory_walk.h"
#include "skyfix/memory/fault_injection.h"
#include "skyfix/memory/ledger.h"

namespace skyfix::bench {

struct MemoryBenchmarkOptions {
  std::string device = "cpu";  // or cuda; cpu = host memory that stands in for a device
  std::uint64_t gpu_bytes = std::uint64_t{8} << 30;
  int frames = 500;
  WalkOptions walk;
  std::optional<std::uint64_t> cached_references;  // none: 8, or 4 up to a budget of 8 GiB
  FaultPlan faults;
  std::string peer;  // naive: the founding fault's way as well, on a GPU
  std::size_t threads = 0;
  std::filesystem::path csv;
};

struct MemoryFrame {
  int frame = 0;
  std::uint64_t allocated_bytes = 0;  // after the frame, as are the next four
  std::uint64_t reserved_bytes = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t cache_bytes = 0;
  std::uint64_t cache_references = 0;
  int retries = 0;
  std::string given_up;    // steps of the retry ladder
  std::int64_t pairs = 0;  // -1 = the frame is lost
  double ms = 0;           // of the match, copies included
};

struct MemoryRun {
  std::vector<MemoryFrame> frames;
  LedgerFigures figures;              // at the end; peaks over the run
  std::uint64_t peak_used_bytes = 0;  // of the values after each frame
  CacheFigures cache;
  std::uint64_t injected = 0;  // failures
  std::string digest;          // SHA-256 over every pair with its scores, to the bit

  int lost() const;
  int retries() const;
  // Peak reserved less peak allocated, and the most that it may be: 5 % of the latter or 64 MiB.
  std::uint64_t slack_bytes() const;
  std::uint64_t slack_allowed() const;
  // By how much the highest reserved bytes of the second half exceed those of the first, and the
  // most that it may be where nothing leaks: references differ in size, and allocators take whole
  // segments. 1 % of the peak or 4 MiB: a reference a frame over 250 frames is five times that.
  std::uint64_t growth_bytes() const;
  std::uint64_t growth_allowed() const;
};

// Sees every frame when it is done. Throws DeviceFailure for other failures than lack of memory.
MemoryRun run_memory_walk(Device& device, MatchKernels& kernels, CacheLimits cache,
                          const MemoryBenchmarkOptions& options,
                          const std::function<void(const MemoryFrame&)>& done);

// The cache that the product would have.
CacheLimits reference_cache_of(const MemoryBenchmarkOptions& options, std::uint64_t cap_bytes);

// Runs, writes the CSV ("-" = `standard_output`) frame by frame and prints a summary; the exit
// status is 1 when frames were lost. Throws Error(bad_option), Error(no_gpu),
// Error(unwritable_output).
int run_memory_benchmark(const MemoryBenchmarkOptions& options, std::ostream& out,
                         std::ostream& standard_output);

}  // namespace skyfix::bench
