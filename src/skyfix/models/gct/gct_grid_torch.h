// What parts of the network compute once for a size of frames, in patches, and keep.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "skyfix/memory/bounded_cache.h"

namespace skyfix::gct {

// The latest sizes' constants, counted and not weighed: they are small. Thread-safe. Who records
// work that reads them holds the handle.
template <class Value>
class ByGrid {
 public:
  using Handle = std::shared_ptr<const Value>;

  // make() where the size is new; two threads may both make it.
  template <class Make>
  Handle get(std::int64_t rows, std::int64_t columns, Make&& make) const {
    const std::uint64_t key = std::uint64_t(rows) << 32 | std::uint64_t(columns);
    if (Handle found = kept_->find(key)) return found;
    return kept_->insert(key, std::forward<Make>(make)(), 1);
  }

 private:
  static constexpr std::uint64_t kSizes = 8;
  using Cache = BoundedCache<std::uint64_t, Value>;
  std::shared_ptr<Cache> kept_ = std::make_shared<Cache>(CacheLimits{.bytes = kSizes});
};

}  // namespace skyfix::gct
