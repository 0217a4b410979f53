// The device memory that a match works in, kept from frame to frame.
#pragma once

#include <cstddef>
#include <cstdint>

#include "skyfix/match/pool_matcher.h"

namespace skyfix::match {

// One block that grows when it must. The first size is taken as it is; once sizes turn out to vary
// it grows in steps of 1/8 of a power of two, so that slightly larger frames find it large enough.
class GrowingBuffer {
 public:
  explicit GrowingBuffer(std::string_view owner) : owner_(owner) {}
  // At least `bytes`; what it held is lost when it grows. Null for 0 bytes.
  std::byte* at_least(std::size_t bytes, Ledger& ledger);
  std::uint64_t release();
  // Most bytes it takes for requests of at most `bytes`.
  static std::size_t capacity_bound(std::size_t bytes);

 private:
  std::string_view owner_;
  DeviceBuffer buffer_;
};

struct MatchWorkspace : public ReleasableCache {
  GrowingBuffer query{kQueryOwner};           // a chunk's rows, then their bias
  GrowingBuffer keys{kMatcherOwner};          // of all query rows, then of all pool rows
  GrowingBuffer references{kReferenceOwner};  // those beyond the cache

  double rebuild_cost_ms() const override { return 0; }  // nothing in it needs to be kept
  std::uint64_t release_unpinned() override {
    return query.release() + keys.release() + references.release();
  }
};

}  // namespace skyfix::match
