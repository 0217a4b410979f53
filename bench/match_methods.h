// The contestants of the match benchmark on the CPU, behind one signature.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/match_benchmark.h"
#include "bench/match_data.h"
#include "skyfix/match/mutual_nearest.h"

namespace skyfix::bench {

struct MatchMethod {
  std::string name;
  std::function<NearestNeighbours(DescriptorView query, DescriptorView map)> run;
  std::string why_not;  // why it cannot run here, or not at this size
};

// skyfix, torch_full, torch_chunks, faiss, blas_blocks.
std::vector<MatchMethod> match_methods(const MatchShape& shape);
// FAISS alone.
MatchMethod faiss_method();

// Measures them in turns on the CPU. What runs out of memory gets a row that says so.
std::vector<MatchBenchmarkRow> benchmark_methods(const std::vector<MatchMethod>& methods,
                                                 const MatchShape& shape, int repeat);

// For our pool, LibTorch, OpenMP (FAISS) and OpenBLAS alike.
void set_all_thread_counts(std::size_t threads);

// "LibTorch 2.11.0; FAISS 1.7.3; OpenBLAS 0.3.21 ... for SkylakeX".
std::string peer_versions();

// OpenBLAS did not know this processor and fell back to its SSE3 kernels, though it could do
// better.
bool peer_is_handicapped();

}  // namespace skyfix::bench
