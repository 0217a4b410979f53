#include "skyfix/memory/bounded_cache.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "skyfix/memory/ledger.h"

namespace skyfix {
namespace {

using Cache = BoundedCache<int, std::string>;

std::vector<int> kept_keys(Cache& cache, int keys) {
  std::vector<int> kept;
  for (int key = 0; key < keys; ++key) {
    if (cache.find(key)) kept.push_back(key);
  }
  return kept;
}

TEST(BoundedCache, KeepsWhatFitsAndCounts) {
  Cache cache({.bytes = 100});
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_EQ(*cache.insert(1, "one", 40), "one");
  EXPECT_EQ(*cache.find(1), "one");
  const CacheFigures figures = cache.figures();
  EXPECT_EQ(figures.bytes, 40);
  EXPECT_EQ(figures.entries, 1);
  EXPECT_EQ(figures.hits, 1);
  EXPECT_EQ(figures.misses, 1);
  EXPECT_EQ(figures.evictions, 0);
}

TEST(BoundedCache, TheLeastRecentlyUsedGoes) {
  Cache cache({.bytes = 100});
  for (int key = 0; key < 3; ++key) cache.insert(key, "x", 30);
  cache.find(0);
  cache.insert(3, "x", 30);
  EXPECT_THAT(kept_keys(cache, 4), testing::ElementsAre(0, 2, 3));
  EXPECT_EQ(cache.figures().evictions, 1);
  EXPECT_EQ(cache.figures().peak_bytes, 90);
}

TEST(BoundedCache, EntriesAreALimitToo) {
  Cache cache({.bytes = 1000, .entries = 2});
  for (int key = 0; key < 5; ++key) cache.insert(key, "x", 1);
  EXPECT_THAT(kept_keys(cache, 5), testing::ElementsAre(3, 4));
}

TEST(BoundedCache, ALimitOfNothingKeepsNothing) {
  for (const CacheLimits limits : {CacheLimits{0}, CacheLimits{0, 0}, CacheLimits{100, 0}}) {
    Cache cache(limits);
    EXPECT_FALSE(cache.make_room(1));
    EXPECT_EQ(*cache.insert(1, "usable", 10), "usable");
    EXPECT_EQ(cache.find(1), nullptr);
    EXPECT_EQ(cache.figures().entries, 0);
    EXPECT_EQ(cache.figures().peak_bytes, 0);
    EXPECT_EQ(cache.release_unpinned(), 0);
  }
}

TEST(BoundedCache, WhatIsLargerThanTheLimitDropsNothing) {
  Cache cache({.bytes = 100});
  cache.insert(1, "x", 60);
  EXPECT_FALSE(cache.make_room(101));
  EXPECT_FALSE(cache.make_room(UINT64_MAX));
  cache.insert(2, "too large", 101);
  EXPECT_THAT(kept_keys(cache, 3), testing::ElementsAre(1));
}

TEST(BoundedCache, RoomIsMadeBeforeTheValueExists) {
  const auto device = make_host_device(1024);
  Ledger ledger(*device);
  BoundedCache<int, DeviceBuffer> cache({.bytes = 1024});
  for (int key = 0; key < 10; ++key) {
    // Without the room made first, the third would exceed the device.
    ASSERT_TRUE(cache.make_room(512));
    cache.insert(key, ledger.allocate(512, "cache"), 512);
  }
  EXPECT_EQ(ledger.figures().peak_bytes, 1024);
  EXPECT_EQ(cache.figures().evictions, 8);
  EXPECT_EQ(cache.release_unpinned(), 1024);
  EXPECT_EQ(ledger.figures().bytes, 0);
}

TEST(BoundedCache, PinnedEntriesStayAndCount) {
  Cache cache({.bytes = 100});
  auto pinned = cache.insert(1, "held", 60);
  cache.insert(2, "x", 30);
  EXPECT_FALSE(cache.make_room(50)) << "60 are pinned";
  EXPECT_THAT(kept_keys(cache, 3), testing::ElementsAre(1));
  EXPECT_TRUE(cache.make_room(40));
  cache.set_limits({.bytes = 10});
  EXPECT_EQ(cache.release_unpinned(), 0);
  EXPECT_EQ(cache.figures().bytes, 60) << "above the limit, and said";
  EXPECT_EQ(*pinned, "held");
  pinned.reset();
  EXPECT_EQ(cache.find(1), nullptr) << "let go, and above the limit";
  EXPECT_EQ(cache.figures().bytes, 0);
}

TEST(BoundedCache, AReplacedEntryGoes) {
  Cache cache({.bytes = 100});
  cache.insert(1, "old", 60);
  EXPECT_EQ(*cache.insert(1, "new", 90), "new");
  EXPECT_EQ(*cache.find(1), "new");
  EXPECT_EQ(cache.figures().bytes, 90);
  EXPECT_EQ(cache.figures().entries, 1);
  EXPECT_EQ(cache.figures().evictions, 0);
  cache.insert(1, "too large", 101);
  EXPECT_EQ(cache.find(1), nullptr) << "the old value is out of date";
}

TEST(BoundedCache, AReplacedPinnedEntryCountsUntilLetGo) {
  Cache cache({.bytes = 100, .entries = 3});
  auto old = cache.insert(1, "old", 60);
  cache.insert(1, "new", 30);
  EXPECT_EQ(*old, "old");
  EXPECT_EQ(*cache.find(1), "new");
  EXPECT_EQ(cache.figures().bytes, 90);
  EXPECT_EQ(cache.figures().entries, 2);
  EXPECT_FALSE(cache.make_room(50)) << "60 are still held";
  EXPECT_EQ(cache.figures().bytes, 60);
  old.reset();
  EXPECT_EQ(cache.figures().bytes, 0);
  EXPECT_TRUE(cache.make_room(100));
  EXPECT_EQ(cache.figures().peak_bytes, 90);
}

TEST(BoundedCache, NewLimitsDropWhatIsOver) {
  Cache cache({.bytes = 100});
  for (int key = 0; key < 4; ++key) cache.insert(key, "x", 25);
  cache.set_limits({.bytes = 60});
  EXPECT_THAT(kept_keys(cache, 4), testing::ElementsAre(2, 3));
  cache.set_limits({.bytes = 60, .entries = 1});
  EXPECT_THAT(kept_keys(cache, 4), testing::ElementsAre(3));
  EXPECT_EQ(cache.limits().bytes, 60);
  EXPECT_EQ(cache.limits().entries, 1);
}

TEST(BoundedCache, ReleasingKeepsOnlyWhatIsPinned) {
  Cache cache({.bytes = 100}, 12.5);
  const ReleasableCache& releasable = cache;
  EXPECT_EQ(releasable.rebuild_cost_ms(), 12.5);
  const auto pinned = cache.insert(0, "held", 10);
  cache.insert(1, "x", 20);
  cache.insert(2, "x", 0);
  EXPECT_EQ(cache.release_unpinned(), 20);
  EXPECT_THAT(kept_keys(cache, 3), testing::ElementsAre(0));
  EXPECT_EQ(cache.limits().bytes, 100) << "the next value is kept again";
}

// The same rules, written down plainly: a list of all that is held, oldest use first.
struct Model {
  struct Entry {
    int key;  // -1: replaced
    std::uint64_t bytes;
    Cache::Handle pin;  // null when not held outside
  };
  CacheLimits limits;
  std::vector<Entry> held;

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Entry& entry : held) sum += entry.bytes;
    return sum;
  }
  std::vector<Entry>::iterator at(int key) {
    return std::find_if(held.begin(), held.end(), [&](const Entry& e) { return e.key == key; });
  }
  void drop_over(std::uint64_t bytes_allowed, std::uint64_t entries_allowed) {
    std::erase_if(held, [](const Entry& e) { return e.key < 0 && !e.pin; });
    for (std::size_t i = 0; i < held.size();) {
      if (bytes() <= bytes_allowed && held.size() <= entries_allowed) return;
      if (held[i].pin) {
        ++i;
      } else {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  bool make_room(std::uint64_t more) {
    if (more > limits.bytes || limits.entries == 0) {
      drop_over(limits.bytes, limits.entries);
      return false;
    }
    drop_over(limits.bytes - more, limits.entries - 1);
    return bytes() + more <= limits.bytes && held.size() + 1 <= limits.entries;
  }
  bool find(int key) {
    drop_over(limits.bytes, limits.entries);
    const auto found = at(key);
    if (found == held.end()) return false;
    std::rotate(found, found + 1, held.end());
    return true;
  }
  bool insert(int key, std::uint64_t more) {
    if (const auto old = at(key); old != held.end()) {
      if (old->pin) {
        old->key = -1;
      } else {
        held.erase(old);
      }
    }
    if (!make_room(more)) return false;
    held.push_back({key, more, nullptr});
    return true;
  }
};

class RandomUse {
 public:
  explicit RandomUse(unsigned seed) : random_(seed) {}

  void step() {
    const int key = static_cast<int>(random_() % 12);
    const std::uint64_t bytes = random_() % 40;
    switch (random_() % 12) {
      case 0:
        model_.limits = {random_() % 150, random_() % 8};
        cache_.set_limits(model_.limits);
        model_.drop_over(model_.limits.bytes, model_.limits.entries);
        break;
      case 1: {
        const std::uint64_t before = model_.bytes();
        model_.drop_over(0, 0);
        ASSERT_EQ(cache_.release_unpinned(), before - model_.bytes());
        break;
      }
      case 2:
        ASSERT_EQ(cache_.make_room(bytes), model_.make_room(bytes));
        break;
      case 3:
      case 4:
      case 5:
        unpin(random_());
        break;
      case 6:
      case 7:
      case 8: {
        const Cache::Handle found = cache_.find(key);
        ASSERT_EQ(found != nullptr, model_.find(key));
        if (found && random_() % 2) model_.at(key)->pin = found;
        break;
      }
      default:
        insert(key, bytes);
    }
  }

  void compare() {
    std::erase_if(model_.held, [](const auto& e) { return e.key < 0 && !e.pin; });
    ASSERT_EQ(cache_.figures().bytes, model_.bytes());
    ASSERT_EQ(cache_.figures().entries, model_.held.size());
  }

 private:
  void insert(int key, std::uint64_t bytes) {
    const std::string value = std::to_string(key) + "/" + std::to_string(bytes);
    const Cache::Handle handle = cache_.insert(key, value, bytes);
    ASSERT_EQ(*handle, value);
    const bool kept = model_.insert(key, bytes);
    ASSERT_EQ(handle.use_count(), kept ? 2 : 1);
    if (kept && random_() % 3 == 0) model_.at(key)->pin = handle;
  }
  void unpin(std::size_t choice) {
    if (!model_.held.empty()) model_.held[choice % model_.held.size()].pin.reset();
  }

  std::mt19937 random_;
  Cache cache_{CacheLimits{100, 6}};
  Model model_{CacheLimits{100, 6}, {}};
};

TEST(BoundedCache, RandomUseFollowsThePlainRules) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    RandomUse use(seed);
    for (int i = 0; i < 1000; ++i) {
      use.step();
      use.compare();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
  }
}

TEST(BoundedCache, ThreadsShareItWithinTheLimit) {
  BoundedCache<int, std::vector<int>> cache({.bytes = 1000, .entries = 20});
  std::atomic<std::uint64_t> wrong{0};
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 5000; ++i) {
      const int key = static_cast<int>(random() % 40);
      auto value = cache.find(key);
      if (!value) {
        const std::uint64_t bytes = 20 + static_cast<std::uint64_t>(key);
        cache.make_room(bytes);
        value = cache.insert(key, std::vector<int>(100, key), bytes);
      }
      for (const int number : *value) wrong += number != key;
      wrong += cache.figures().bytes > 1000;
      if (random() % 100 == 0) cache.release_unpinned();
      if (random() % 100 == 0) cache.set_limits({.bytes = 1000, .entries = 10 + random() % 11});
    }
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  const CacheFigures figures = cache.figures();
  EXPECT_EQ(figures.hits + figures.misses, 20000);
  EXPECT_GT(figures.hits, 0);
  EXPECT_GT(figures.evictions, 0);
  EXPECT_LE(figures.peak_bytes, 1000);
  cache.release_unpinned();
  EXPECT_EQ(cache.figures().bytes, 0) << "nobody holds anything any more";
}

}  // namespace
}  // namespace skyfix
