// `skyfix bench match`: our matcher beside the product matrix with LibTorch (whole, and in chunks
// of 4096 rows), FAISS (exact inner-product search in both directions, on OpenBLAS) and the product
// matrix in blocks of OpenBLAS, in one process on the same threads.
//
// On the CPU the methods take turns within each repeat, so that other load on the machine meets all
// of them. On a GPU (match_device.h) each has its repeats in a row, so that the clocks stay up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/match/match_kernels.h"

namespace skyfix::bench {

inline constexpr int kQueuedCalls = 20;
// The note of a method that ran out of it.
inline constexpr const char* kNotEnoughMemory = "not enough memory";
inline constexpr int kMostMatchEntries = 65536;  // of a row

struct MatchShape {
  std::int64_t n = 0;  // query rows
  std::int64_t m = 0;  // map rows
  int d = 0;           // entries of a row
};

struct MatchBenchmarkOptions {
  std::string device = "cpu";     // or cuda
  std::vector<MatchShape> sizes;  // empty = default_match_sizes(device)
  int repeat = 9;
  std::size_t threads = 0;          // 0 = all cores
  std::filesystem::path csv;        // written as well, if not empty
  RowType type = RowType::float32;  // of our rows on a GPU
  bool all = false;                 // FAISS beside a GPU at large sizes too
};
std::vector<MatchShape> default_match_sizes(std::string_view device);

struct MatchBenchmarkRow {
  std::string method;  // skyfix, torch_full, torch_chunks, faiss, blas_blocks
  std::string device;
  MatchShape shape;
  std::string dtype;
  // Median over the repeats, both directions: from an idle device to an idle device.
  double ms = 0;
  // Memory beyond inputs and outputs, at its peak, during one call; -1 = unknown. On the CPU:
  // growth of the process's resident memory, the result included. On a GPU: of what its allocator
  // has handed out, after a first call (a library's lasting workspace is not in it).
  std::int64_t extra_bytes = -1;
  // Share of checked rows (of both sides) whose neighbour is the lowest-index winner in double
  // precision, or differs from it by no more than float32 rounding can explain.
  double equal = 0;
  // On a GPU: kQueuedCalls calls queued behind one another, per call: the launches of a call
  // overlap with the work of the one before. 0 = not measured.
  double queued_ms = 0;
  std::string note;  // why there are no figures; empty when there are
};

// "NxM" or "NxMxD"; throws Error(bad_option).
MatchShape parse_match_shape(std::string_view text, int default_dimension);
// A comma-separated list of the above.
std::vector<MatchShape> parse_match_shapes(std::string_view text, int default_dimension);

// Measures one shape on the CPU. Sets all libraries' thread counts.
std::vector<MatchBenchmarkRow> benchmark_match(const MatchShape& shape,
                                               const MatchBenchmarkOptions& options);

// Prints the libraries' versions and the table as it grows, writes the CSV ("-" =
// `standard_output`) shape by shape; returns the exit status. Throws
// Error(unwritable_output) for the CSV, Error(bad_option) for options that make no sense and
// Error(no_gpu).
int run_match_benchmark(const MatchBenchmarkOptions& options, std::ostream& out,
                        std::ostream& standard_output);

}  // namespace skyfix::bench
