// The memory model of the exact matcher: a frame's descriptors against a pool of references, whose
// rows are cached on the device. An upper bound, near to what is taken: buffers that are used again
// for every frame are rounded up by an eighth at most.
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/memory/footprint.h"

namespace skyfix {

struct MatcherShape {
  std::int64_t dimension = 128;
  std::int64_t query_rows = 0;      // of a frame
  std::int64_t reference_rows = 0;  // of one reference
  std::int64_t references = 0;      // in a frame's pool
  DataType type = DataType::fp32;
  std::uint64_t reference_extra_bytes = 0;  // kept with a reference: a network's feature
};

struct MatcherSettings {
  std::int64_t cache_references = 0;  // kept from frame to frame
  std::int64_t chunk_rows = 0;        // query rows on the device at once
  std::int64_t batch_references = 0;  // on the device at once beyond the cache
};

// Rows, a float to mask out unusable ones, and the map point of each; each part begins at a
// multiple of 256 bytes.
std::uint64_t matcher_rows_bytes(const MatcherShape& shape, std::int64_t rows);
// One cached reference.
std::uint64_t reference_bytes(const MatcherShape& shape);

// "reference descriptors" (the cache), "query descriptors" and "matcher": references beyond the
// cache, and 12 bytes (a key of 8, a score of 4) for each query row at hand and each pool row.
std::vector<ComponentNeed> matcher_needs(const MatcherShape& shape,
                                         const MatcherSettings& settings);

}  // namespace skyfix
