// The contestants of the match benchmark, behind one signature.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skyfix/match/mutual_nearest.h"

namespace skyfix::bench {

struct MatchMethod {
  std::string_view name;
  NearestNeighbours (*run)(DescriptorView query, DescriptorView map);
};

std::vector<MatchMethod> match_methods();

// For our pool, OpenMP (FAISS) and OpenBLAS alike.
void set_all_thread_counts(std::size_t threads);

// "FAISS 1.7.3, OpenBLAS 0.3.21 ... SkylakeX".
std::string peer_versions();

// OpenBLAS did not know this processor and fell back to its SSE3 kernels, though it could do
// better.
bool peer_is_handicapped();

}  // namespace skyfix::bench
