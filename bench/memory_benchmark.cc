#include "bench/memory_benchmark.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>

#include "skyfix/base/hash.h"
#include "skyfix/memory/plan_localize.h"

namespace skyfix::bench {
namespace {

constexpr std::uint64_t kSlackBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kSlackParts = 20;  // 5 %
constexpr std::uint64_t kGrowthBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kGrowthParts = 100;  // 1 %

template <class T>
void append_bytes(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The digest of what came before and of this frame's pairs.
std::string digest_after(const std::string& before, const PoolMatches& matches) {
  std::string bytes = before;
  append_bytes(bytes, static_cast<std::uint64_t>(matches.pairs.size()));
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    append_bytes(bytes, matches.pairs[i].query);
    append_bytes(bytes, matches.pairs[i].map);
    append_bytes(bytes, matches.pairs[i].score);
    append_bytes(bytes, matches.runner_up[i]);
  }
  return sha256_hex(bytes);
}

std::uint64_t highest_reserved(const std::vector<MemoryFrame>& frames, std::size_t begin,
                               std::size_t end) {
  std::uint64_t highest = 0;
  for (std::size_t i = begin; i < end; ++i) highest = std::max(highest, frames[i].reserved_bytes);
  return highest;
}

// Matches one frame, keeping book.
void match_frame(PoolMatcher& matcher, const WalkFrame& walk, MemoryFrame& frame,
                 std::string& digest) {
  const std::vector<PoolReference> references = walk.references();
  const auto start = std::chrono::steady_clock::now();
  try {
    const PoolMatches matches = matcher.match(walk.query(), references);
    frame.pairs = static_cast<std::int64_t>(matches.pairs.size());
    frame.retries = static_cast<int>(matches.retries.events.size());
    frame.given_up = matches.retries.given_up();
    digest = digest_after(digest, matches);
  } catch (const OutOfDeviceMemory& failure) {
    frame.pairs = -1;
    frame.given_up = failure.what();
  }
  frame.ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int MemoryRun::lost() const {
  return static_cast<int>(std::count_if(frames.begin(), frames.end(),
                                        [](const MemoryFrame& frame) { return frame.pairs < 0; }));
}

int MemoryRun::retries() const {
  return std::accumulate(frames.begin(), frames.end(), 0,
                         [](int sum, const MemoryFrame& frame) { return sum + frame.retries; });
}

std::uint64_t MemoryRun::slack_bytes() const {
  const DeviceFigures& device = figures.device;
  return device.peak_reserved_bytes -
         std::min(device.peak_reserved_bytes, device.peak_allocated_bytes);
}

std::uint64_t MemoryRun::slack_allowed() const {
  return std::max(figures.device.peak_allocated_bytes / kSlackParts, kSlackBytes);
}

std::uint64_t MemoryRun::growth_bytes() const {
  const std::size_t half = frames.size() / 2;
  const std::uint64_t before = highest_reserved(frames, 0, half);
  const std::uint64_t after = highest_reserved(frames, half, frames.size());
  return half == 0 ? 0 : after - std::min(before, after);
}

std::uint64_t MemoryRun::growth_allowed() const {
  return std::max(figures.device.peak_reserved_bytes / kGrowthParts, kGrowthBytes);
}

CacheLimits reference_cache_of(const MemoryBenchmarkOptions& options, std::uint64_t cap_bytes) {
  const std::uint64_t entries = options.cached_references.value_or(
      static_cast<std::uint64_t>(usual_cached_references(options.gpu_bytes)));
  return {entries == 0 ? 0 : cap_bytes / 2, entries};
}

MemoryRun run_memory_walk(Device& device, MatchKernels& kernels, CacheLimits cache,
                          const MemoryBenchmarkOptions& options,
                          const std::function<void(const MemoryFrame&)>& done) {
  Ledger ledger(device, options.faults);
  ledger.reset_peaks();
  PoolMatcherOptions matching;
  matching.reference_cache = cache;
  PoolMatcher matcher(ledger, kernels, matching);
  MemoryRun run;
  for (int i = 0; i < options.frames; ++i) {
    MemoryFrame frame;
    frame.frame = i;
    match_frame(matcher, WalkFrame(options.walk, i), frame, run.digest);
    const DeviceFigures figures = device.figures();
    frame.allocated_bytes = figures.allocated_bytes;
    frame.reserved_bytes = figures.reserved_bytes;
    frame.used_bytes = figures.used_bytes;
    frame.cache_bytes = matcher.cache_figures().bytes;
    frame.cache_references = matcher.cache_figures().entries;
    run.peak_used_bytes = std::max(run.peak_used_bytes, frame.used_bytes);
    run.frames.push_back(frame);
    done(frame);
  }
  run.figures = ledger.figures();
  run.cache = matcher.cache_figures();
  run.injected = ledger.faults().injected();
  return run;
}

}  // namespace skyfix::bench
