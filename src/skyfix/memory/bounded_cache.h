// A cache with a limit in bytes (and, optionally, in entries) that drops the least recently used.
// What somebody still holds is pinned: it stays until let go, and counts towards the limit. A limit
// of 0 works: nothing is kept. Thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace skyfix {

// What the retry ladder needs of a cache.
class ReleasableCache {
 public:
  virtual ~ReleasableCache() = default;
  // Milliseconds, roughly, to fill an entry anew: caches are released from the cheapest upward.
  virtual double rebuild_cost_ms() const = 0;
  // Drops everything that is not pinned; returns the bytes given up.
  virtual std::uint64_t release_unpinned() = 0;
};

struct CacheLimits {
  std::uint64_t bytes = 0;
  std::uint64_t entries = UINT64_MAX;
};

struct CacheFigures {
  std::uint64_t bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t entries = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t evictions = 0;
};

template <class Key, class Value>
class BoundedCache : public ReleasableCache {
 public:
  using Handle = std::shared_ptr<const Value>;  // pins the entry while it lives

  explicit BoundedCache(CacheLimits limits, double rebuild_cost_ms = 1);

  // Null when absent. Makes the entry the most recently used.
  Handle find(const Key& key);
  // Makes room first (drops unpinned entries, oldest use first), so that entry and rest stay within
  // the limits; call it BEFORE allocating the value. Returns false when it would not fit even then:
  // the value may be used but is not kept. What is larger than the limit drops nothing.
  bool make_room(std::uint64_t bytes);
  // Keeps the value if it fits; returns it pinned in any case. An entry under the same key is
  // replaced; where that one is pinned, it counts until let go.
  Handle insert(const Key& key, Value value, std::uint64_t bytes);

  void set_limits(CacheLimits limits);  // drops what is over them
  CacheLimits limits() const;
  CacheFigures figures() const;
  double rebuild_cost_ms() const override { return rebuild_cost_ms_; }
  std::uint64_t release_unpinned() override;

 private:
  struct Entry {
    Key key;
    Handle value;
    std::uint64_t bytes;
  };
  using Order = std::list<Entry>;  // most recently used first
  struct Replaced {                // was pinned when another came under its key
    std::weak_ptr<const Value> value;
    std::uint64_t bytes;
  };
  // All of these: mutex held.
  bool fit(std::uint64_t bytes);
  std::uint64_t drop_over(std::uint64_t bytes_allowed, std::uint64_t entries_allowed);
  void detach(const Key& key);
  std::uint64_t held_bytes() const;
  std::uint64_t held_entries() const;

  mutable std::mutex mutex_;
  CacheLimits limits_;
  double rebuild_cost_ms_;
  Order order_;
  std::unordered_map<Key, typename Order::iterator> index_;
  std::vector<Replaced> replaced_;
  std::uint64_t indexed_bytes_ = 0;
  CacheFigures figures_;  // but for bytes and entries
};

}  // namespace skyfix

#include "skyfix/memory/bounded_cache_impl.h"
