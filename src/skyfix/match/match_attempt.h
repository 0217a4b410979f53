// One try at matching a frame on the device, with a given effort (retry.h). Whatever it holds on
// the device is let go when it ends, but for what the store and the workspace keep.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skyfix/match/device_references.h"
#include "skyfix/match/match_workspace.h"
#include "skyfix/match/pool_matcher.h"

namespace skyfix::match {

struct MatchResources {
  Ledger& ledger;
  MatchKernels& kernels;
  ReferenceStore& store;
  MatchWorkspace& workspace;
  const PoolMatcherOptions& options;
  // False in a retry: what memory there is then serves the frame in hand.
  bool may_cache_more = true;
};

// Device bytes of a chunk of query rows with their bias.
std::size_t query_chunk_bytes(std::int64_t rows, int dimension);

class MatchAttempt {
 public:
  // `query` and `references` have rows, of equal dimension.
  MatchAttempt(const MatchResources& resources, DescriptorView query,
               std::span<const PoolReference> references, const Effort& effort);
  // Once. Throws OutOfDeviceMemory.
  PoolMatches run();

 private:
  // A reference, once, however often it is in the pool.
  struct Slot {
    PoolReference reference;
    std::vector<std::uint32_t> first_index;  // of its rows in the pool
    ReferenceStore::Handle cached;           // null = beyond the cache
    PlacedReference placed;
  };
  struct Chunk {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool operator==(const Chunk&) const = default;
  };
  // Slots that are on the device together, by index.
  using Group = std::vector<std::size_t>;

  void number_pool();
  void pin_cached();
  void form_groups();
  void take_workspace();
  void load_group(std::size_t group);
  void load_chunk(const Chunk& chunk);
  DeviceRows chunk_rows() const;
  // Calls visit(chunk, group) for all tiles; wanted(chunk) = false spares loading it.
  template <class Wanted, class Visit>
  void for_each_tile(Wanted wanted, Visit visit);
  void accumulate(const Chunk& chunk, const Group& group);
  std::vector<MutualPair> find_pairs();
  std::uint32_t group_of(std::int64_t pool_row) const;
  std::vector<float> find_runner_ups(std::span<const MutualPair> pairs);

  MatchResources resources_;
  Device& device_;
  DescriptorView query_;
  std::span<const PoolReference> references_;
  Effort effort_;
  std::vector<std::int64_t> offset_;  // of each reference's rows in the pool, and the end
  std::vector<Slot> slots_;
  std::vector<Group> groups_;
  std::int64_t rows_per_chunk_ = 1;
  std::byte* query_memory_ = nullptr;
  MatchKey* keys_ = nullptr;
  std::byte* reference_memory_ = nullptr;
  Chunk loaded_chunk_;
  std::size_t loaded_group_ = SIZE_MAX;
};

}  // namespace skyfix::match
