#include "skyfix/memory/retry.h"

#include <algorithm>
#include <cassert>

namespace skyfix {

std::string_view retry_step_name(RetryStep step) {
  switch (step) {
    case RetryStep::release_cache:
      return "release_cache";
    case RetryStep::trim:
      return "trim";
    case RetryStep::half_chunk:
      return "half_chunk";
    case RetryStep::smaller_batch:
      return "smaller_batch";
    case RetryStep::less_on_device:
      return "less_on_device";
    case RetryStep::cpu:
      return "cpu";
  }
  return "unknown";
}

bool retry_step_is_bit_equal_for_networks(RetryStep step) { return step <= RetryStep::half_chunk; }

std::string RetryReport::given_up() const {
  std::string text;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (i > 0 && events[i].step == events[i - 1].step) continue;
    if (i > 0) text += ", ";
    text += retry_step_name(events[i].step);
  }
  return text;
}

RetryLadder::RetryLadder(Device& device, std::vector<ReleasableCache*> caches, RetryOptions options)
    : device_(device), caches_(std::move(caches)), options_(options) {
  assert(options_.min_chunk_scale > 0 && options_.min_batch_scale > 0 && "the ladder has an end");
  std::stable_sort(caches_.begin(), caches_.end(), [](const auto* a, const auto* b) {
    return a->rebuild_cost_ms() < b->rebuild_cost_ms();
  });
}

RetryLadder::Climb::Climb(RetryLadder& ladder, RetryReport& report)
    : ladder_(ladder), report_(report) {
  report_ = {};
}

bool RetryLadder::Climb::next(const OutOfDeviceMemory& failure) {
  const auto step = take_step();
  if (!step) return false;
  report_.events.push_back({*step, failure.failure(), failure.owner(), failure.bytes()});
  // Whatever was given up is of use only when its blocks can be had in other sizes.
  ladder_.device_.trim();
  return true;
}

std::optional<RetryStep> RetryLadder::Climb::take_step() {
  Effort& effort = report_.effort;
  if (effort.on_cpu) return std::nullopt;
  if (release_next_cache()) return RetryStep::release_cache;
  // The attempts since may have filled the caches again.
  for (ReleasableCache* cache : ladder_.caches_) cache->release_unpinned();
  if (!trimmed_) {
    trimmed_ = true;
    return RetryStep::trim;
  }
  if (effort.chunk_scale / 2 >= ladder_.options_.min_chunk_scale) {
    effort.chunk_scale /= 2;
    return RetryStep::half_chunk;
  }
  if (effort.batch_scale / 2 >= ladder_.options_.min_batch_scale) {
    effort.batch_scale /= 2;
    return RetryStep::smaller_batch;
  }
  if (!effort.less_on_device) {
    effort.less_on_device = true;
    return RetryStep::less_on_device;
  }
  effort.on_cpu = true;
  return RetryStep::cpu;
}

bool RetryLadder::Climb::release_next_cache() {
  const auto& caches = ladder_.caches_;
  while (next_cache_ < caches.size()) {
    if (caches[next_cache_++]->release_unpinned() > 0) return true;
  }
  return false;
}

}  // namespace skyfix
