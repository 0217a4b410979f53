// References' rows on the device: laid out in one block of memory each, and the bounded cache of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skyfix/match/pool_matcher.h"

namespace skyfix::match {

// Byte offsets within a block that holds `rows` rows of float32, then their bias, then their
// groups; each part starts at a multiple of 256, as an allocation of its own would.
struct ReferenceLayout {
  ReferenceLayout(std::int64_t rows, int dimension);
  std::size_t bias = 0;
  std::size_t group = 0;
  std::size_t bytes = 0;
};

// A reference where the kernels find it; first_index is left to the caller.
struct PlacedReference {
  DeviceRows rows;
  const std::uint32_t* group = nullptr;
};

// Several references' rows behind one another in one block laid out for all of them.
class ReferenceBlock {
 public:
  // `memory` has the layout's bytes for `rows` rows.
  ReferenceBlock(Device& device, MatchKernels& kernels, void* memory, std::int64_t rows,
                 int dimension);
  // Uploads the next reference's rows and groups.
  PlacedReference add(const PoolReference& reference);
  // Writes the bias of all rows added.
  void check();

 private:
  Device& device_;
  MatchKernels& kernels_;
  std::byte* memory_;
  ReferenceLayout layout_;
  int dimension_;
  std::int64_t used_ = 0;  // rows
};

// The cached references. Their memory is taken over by the next reference of the same size that is
// added after they had to go: a run whose references are alike allocates nothing once the cache is
// full.
class ReferenceStore : public ReleasableCache {
 private:
  // Memory that was given up a moment ago.
  class Spares {
   public:
    void put(DeviceBuffer buffer) noexcept;
    // One of exactly this size, or an empty buffer; all others go back to the device.
    DeviceBuffer take(std::size_t bytes);
    void clear() { buffers_.clear(); }

   private:
    std::vector<DeviceBuffer> buffers_;
  };
  // A cache entry's memory: returns to the spares.
  class Entry {
   public:
    Entry(Spares& home, DeviceBuffer memory, const PlacedReference& placed)
        : home_(&home), memory_(std::move(memory)), placed_(placed) {}
    Entry(Entry&&) noexcept = default;
    ~Entry() { home_->put(std::move(memory_)); }
    const PlacedReference& placed() const { return placed_; }

   private:
    Spares* home_;
    DeviceBuffer memory_;
    PlacedReference placed_;
  };

 public:
  using Handle = std::shared_ptr<const Entry>;  // pins it

  ReferenceStore(Ledger& ledger, MatchKernels& kernels, CacheLimits limits)
      : ledger_(ledger), kernels_(kernels), cache_(limits) {}

  // Null when absent.
  Handle find(std::uint64_t key) { return cache_.find(key); }
  // Uploads a reference that is absent and keeps it; null when there is no room for it beside what
  // is pinned. Throws OutOfDeviceMemory.
  Handle add(const PoolReference& reference);

  CacheFigures figures() const { return cache_.figures(); }
  double rebuild_cost_ms() const override { return cache_.rebuild_cost_ms(); }
  std::uint64_t release_unpinned() override;

 private:
  Ledger& ledger_;
  MatchKernels& kernels_;
  Spares spares_;  // outlives the cache
  BoundedCache<std::uint64_t, Entry> cache_;
};

}  // namespace skyfix::match
