// One frame's descriptors against a pool of references (map images) within a memory budget: the
// references' rows are cached on the device, matched in as few launches as fit, and every shortage
// of memory is answered by the retry ladder. Results are those of mutual_nearest.h on the gathered
// pool, bit for bit, whatever was cached, chunked or retried, and on whatever device (AVX2 or later
// on the CPU side).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "skyfix/match/match_kernels.h"
#include "skyfix/match/mutual_nearest.h"
#include "skyfix/memory/bounded_cache.h"
#include "skyfix/memory/ledger.h"
#include "skyfix/memory/retry.h"

namespace skyfix {

// Owners in the ledger.
inline constexpr std::string_view kReferenceOwner = "reference descriptors";
inline constexpr std::string_view kQueryOwner = "query descriptors";
inline constexpr std::string_view kMatcherOwner = "matcher";

// A map image's rows. Equal keys mean equal rows for the matcher's whole life.
struct PoolReference {
  std::uint64_t key = 0;
  DescriptorView rows;
  std::span<const std::uint32_t> group;  // [rows] map point of each row, for the runner-up
};

struct PoolMatches {
  std::vector<MutualPair> pairs;  // map = row in the pool: references in order, rows in order
  std::vector<float> runner_up;   // per pair, see runner_up_scores; -infinity where none
  RetryReport retries;
};

struct PoolMatcherOptions {
  CacheLimits reference_cache;  // device bytes and number of references
  std::int64_t chunk_rows = 0;  // query rows on the device at once; 0 = all
  std::int64_t batch = 0;       // references on the device at once beyond the cache; 0 = all
  RetryOptions retry;
};

class PoolMatcher {
 public:
  // The CPU alone, no device memory.
  PoolMatcher();
  // `ledger` and `kernels` (of the ledger's device) must outlive it. No allocation happens here.
  PoolMatcher(Ledger& ledger, MatchKernels& kernels, const PoolMatcherOptions& options);
  ~PoolMatcher();

  // Throws DeviceFailure, and std::bad_alloc for host memory; never for lack of device memory.
  // Not thread-safe.
  PoolMatches match(DescriptorView query, std::span<const PoolReference> references);

  CacheFigures cache_figures() const;
  DeviceKind device() const;  // where frames are matched unless memory runs out
  // Device bytes that a match of this size takes beyond the cache: what the plan reckons with.
  static std::uint64_t working_bytes(std::int64_t query_rows, std::int64_t pool_rows,
                                     int dimension);

 private:
  struct OnDevice;
  std::unique_ptr<OnDevice> device_;  // null = CPU alone
};

}  // namespace skyfix
