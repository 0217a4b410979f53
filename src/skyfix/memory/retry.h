// What happens when device memory runs out in the middle of a frame: give up what is cheapest to
// have again, then do the same work in smaller pieces, at last on the CPU. The frame is never lost
// and the next one starts afresh.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skyfix/memory/bounded_cache.h"
#include "skyfix/memory/device.h"
#include "skyfix/memory/ledger.h"

namespace skyfix {

// In the order in which they are tried. Caches are released one at a time, the cheapest to rebuild
// first; half_chunk halves again until min_chunk_scale.
enum class RetryStep { release_cache, trim, half_chunk, smaller_batch, less_on_device, cpu };
std::string_view retry_step_name(RetryStep step);
// False for steps after which a network's numbers may differ within its golden tolerance. (Our
// matcher is bit-equal under every step.)
bool retry_step_is_bit_equal_for_networks(RetryStep step);

// How much of the device an attempt may use.
struct Effort {
  double chunk_scale = 1;       // of the matcher's rows at a time: 1, 1/2, 1/4 ...
  double batch_scale = 1;       // of references or images at a time
  bool less_on_device = false;  // nothing kept resident: one piece at a time from the host
  bool on_cpu = false;
  bool operator==(const Effort&) const = default;
};

struct RetryEvent {
  RetryStep step = RetryStep::trim;  // what was done about it
  MemoryFailure failure = MemoryFailure::allocator;
  std::string owner;        // who asked
  std::uint64_t bytes = 0;  // for how much
};

struct RetryReport {
  std::vector<RetryEvent> events;  // one for each retry
  Effort effort;                   // the one that succeeded
  std::string given_up() const;    // "release_cache, trim, half_chunk", "" when nothing was
};

struct RetryOptions {
  double min_chunk_scale = 1.0 / 64;
  double min_batch_scale = 1.0 / 64;
};

class RetryLadder {
 public:
  // `caches` must outlive it; released in rising rebuild cost, ties in the order given.
  RetryLadder(Device& device, std::vector<ReleasableCache*> caches, RetryOptions options = {});

  // Calls work(effort) until it returns; each OutOfDeviceMemory takes one more step. The last step
  // (cpu) must not use the device: if it throws, that is passed on. Any other exception passes at
  // once. std::bad_alloc that is no OutOfDeviceMemory (host memory) passes too.
  template <class Work>
  auto run(RetryReport& report, Work&& work) {
    Climb climb(*this, report);
    for (;;) {
      try {
        return work(std::as_const(report.effort));
      } catch (const OutOfDeviceMemory& failure) {
        // Left before the retry: the exception may hold on to what is to be released.
        if (!climb.next(failure)) throw;
      }
    }
  }

 private:
  // The state of one climb: where on the ladder this frame stands.
  class Climb {
   public:
    Climb(RetryLadder& ladder, RetryReport& report);
    // Takes the next step and notes it; false when there is none left.
    bool next(const OutOfDeviceMemory& failure);

   private:
    std::optional<RetryStep> take_step();
    bool release_next_cache();
    RetryLadder& ladder_;
    RetryReport& report_;
    std::size_t next_cache_ = 0;
    bool trimmed_ = false;
  };

  Device& device_;
  std::vector<ReleasableCache*> caches_;
  RetryOptions options_;
};

}  // namespace skyfix
