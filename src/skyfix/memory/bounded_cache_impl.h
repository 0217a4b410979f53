// The bodies of bounded_cache.h, which includes this.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include "skyfix/memory/bounded_cache.h"

namespace skyfix {

template <class Key, class Value>
BoundedCache<Key, Value>::BoundedCache(CacheLimits limits, double rebuild_cost_ms)
    : limits_(limits), rebuild_cost_ms_(rebuild_cost_ms) {}

template <class Key, class Value>
typename BoundedCache<Key, Value>::Handle BoundedCache<Key, Value>::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  drop_over(limits_.bytes, limits_.entries);
  const auto found = index_.find(key);
  if (found == index_.end()) {
    ++figures_.misses;
    return nullptr;
  }
  ++figures_.hits;
  order_.splice(order_.begin(), order_, found->second);
  return found->second->value;
}

template <class Key, class Value>
bool BoundedCache<Key, Value>::make_room(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return fit(bytes);
}

template <class Key, class Value>
typename BoundedCache<Key, Value>::Handle BoundedCache<Key, Value>::insert(const Key& key,
                                                                           Value value,
                                                                           std::uint64_t bytes) {
  Handle handle = std::make_shared<const Value>(std::move(value));
  const std::lock_guard lock(mutex_);
  detach(key);
  if (!fit(bytes)) return handle;
  Order fresh;  // spliced in when nothing can fail any more
  fresh.push_front({key, handle, bytes});
  index_.emplace(key, fresh.begin());
  order_.splice(order_.begin(), fresh);
  indexed_bytes_ += bytes;
  figures_.peak_bytes = std::max(figures_.peak_bytes, held_bytes());
  return handle;
}

template <class Key, class Value>
void BoundedCache<Key, Value>::set_limits(CacheLimits limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
  drop_over(limits_.bytes, limits_.entries);
}

template <class Key, class Value>
CacheLimits BoundedCache<Key, Value>::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

template <class Key, class Value>
CacheFigures BoundedCache<Key, Value>::figures() const {
  const std::lock_guard lock(mutex_);
  CacheFigures figures = figures_;
  figures.bytes = held_bytes();
  figures.entries = held_entries();
  return figures;
}

template <class Key, class Value>
std::uint64_t BoundedCache<Key, Value>::release_unpinned() {
  const std::lock_guard lock(mutex_);
  return drop_over(0, 0);
}

template <class Key, class Value>
bool BoundedCache<Key, Value>::fit(std::uint64_t bytes) {
  if (bytes > limits_.bytes || limits_.entries == 0) {
    drop_over(limits_.bytes, limits_.entries);
    return false;
  }
  const std::uint64_t bytes_allowed = limits_.bytes - bytes;
  const std::uint64_t entries_allowed = limits_.entries - 1;
  drop_over(bytes_allowed, entries_allowed);
  return held_bytes() <= bytes_allowed && held_entries() <= entries_allowed;
}

template <class Key, class Value>
std::uint64_t BoundedCache<Key, Value>::drop_over(std::uint64_t bytes_allowed,
                                                  std::uint64_t entries_allowed) {
  std::erase_if(replaced_, [](const Replaced& old) { return old.value.expired(); });
  std::uint64_t dropped = 0;
  std::uint64_t bytes = held_bytes();
  std::uint64_t entries = held_entries();
  for (auto next = order_.end();
       next != order_.begin() && (bytes > bytes_allowed || entries > entries_allowed);) {
    const auto entry = std::prev(next);
    // Handles are given out under the mutex only, so one that is ours alone stays so.
    if (entry->value.use_count() > 1) {
      next = entry;
      continue;
    }
    bytes -= entry->bytes;
    dropped += entry->bytes;
    --entries;
    ++figures_.evictions;
    indexed_bytes_ -= entry->bytes;
    index_.erase(entry->key);
    order_.erase(entry);
  }
  return dropped;
}

template <class Key, class Value>
void BoundedCache<Key, Value>::detach(const Key& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return;
  const auto entry = found->second;
  if (entry->value.use_count() > 1) replaced_.push_back({entry->value, entry->bytes});
  indexed_bytes_ -= entry->bytes;
  index_.erase(found);
  order_.erase(entry);
}

template <class Key, class Value>
std::uint64_t BoundedCache<Key, Value>::held_bytes() const {
  std::uint64_t bytes = indexed_bytes_;
  for (const Replaced& old : replaced_) bytes += old.value.expired() ? 0 : old.bytes;
  return bytes;
}

template <class Key, class Value>
std::uint64_t BoundedCache<Key, Value>::held_entries() const {
  const auto alive = [](const Replaced& old) { return !old.value.expired(); };
  return order_.size() + std::count_if(replaced_.begin(), replaced_.end(), alive);
}

}  // namespace skyfix
