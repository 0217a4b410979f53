// A made-up batch of photos that walks through ever new regions of a map: what filled the memory of
// an 8 GiB card after a few frames, before there was a budget. Each frame's candidates are the next
// references of the walk; some are the frame before's as well, so that a cache has something to do.
#pragma once

#include <cstdint>
#include <vector>

#include "skyfix/match/pool_matcher.h"

namespace skyfix::bench {

struct WalkOptions {
  std::int64_t query_rows = 196'608;  // 512 x 384: one descriptor a pixel
  int dimension = 24;
  std::int64_t map_points = 861;  // of a reference, on average: 70 % to 130 %
  int references = 5;             // of a frame
  std::uint64_t seed = 1;
};

// Equal options and frame numbers give equal frames, whatever came before. Rows have unit length;
// every other query row is a noisy copy of a reference's row.
class WalkFrame {
 public:
  WalkFrame(const WalkOptions& options, std::int64_t frame);
  DescriptorView query() const;
  std::vector<PoolReference> references() const;

 private:
  struct Reference {
    std::uint64_t key;
    std::vector<float> rows;
    std::vector<std::uint32_t> group;
  };
  void fill_query(std::uint64_t seed);

  int dimension_;
  std::vector<Reference> references_;
  std::vector<float> query_;
};

// Of a frame's references, how many the next frame has too.
int shared_references(const WalkOptions& options);

}  // namespace skyfix::bench
