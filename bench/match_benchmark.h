// `skyfix bench match`: our matcher beside FAISS (exact inner-product search in both directions,
// on OpenBLAS) and beside the plain product matrix in blocks, in one process on the same threads.
// The methods take turns within each repeat, so that other load on the machine meets all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix::bench {

struct MatchShape {
  std::int64_t n = 0;  // query rows
  std::int64_t m = 0;  // map rows
  int d = 0;           // entries of a row
};

struct MatchBenchmarkOptions {
  std::vector<MatchShape> sizes = {{49152, 861, 24}, {49152, 5000, 24}, {8192, 6000, 128}};
  int repeat = 9;
  std::size_t threads = 0;    // 0 = all cores
  std::filesystem::path csv;  // written as well, if not empty
};

struct MatchBenchmarkRow {
  std::string method;  // skyfix, faiss, blas_blocks
  std::string device;
  MatchShape shape;
  std::string dtype;
  double ms = 0;  // median over the repeats, both directions
  // Growth of the process's resident peak during one call, its result included; -1 = unknown.
  std::int64_t extra_bytes = -1;
  // Share of checked rows (of both sides) whose neighbour is the lowest-index winner in double
  // precision, or differs from it by no more than float32 rounding can explain.
  double equal = 0;
};

// "NxM" or "NxMxD"; throws Error(bad_option).
MatchShape parse_match_shape(std::string_view text, int default_dimension);
// A comma-separated list of the above.
std::vector<MatchShape> parse_match_shapes(std::string_view text, int default_dimension);

// Measures one shape. Sets the pool's, OpenMP's and OpenBLAS's thread counts.
std::vector<MatchBenchmarkRow> benchmark_match(const MatchShape& shape,
                                               const MatchBenchmarkOptions& options);

// Prints the libraries' versions and the table as it grows; returns the exit status. Throws
// Error(unwritable_output) for the CSV and Error(bad_option) for sizes that make no sense.
int run_match_benchmark(const MatchBenchmarkOptions& options, std::ostream& out);

}  // namespace skyfix::bench
