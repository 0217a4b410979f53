// What the match benchmarks measure on, and how their results are checked.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/match_benchmark.h"
#include "skyfix/match/match_kernels.h"
#include "skyfix/match/mutual_nearest.h"

namespace skyfix::bench {

// Unit rows. Every other query row is a noisy copy of some map row, the rest match nothing: as in a
// photo. Equal shapes give equal rows.
struct MatchData {
  explicit MatchData(const MatchShape& shape);
  // Rounds all entries to what the type holds.
  void round_to(RowType type);
  DescriptorView query_view() const { return {query.data(), shape.n, shape.d}; }
  DescriptorView map_view() const { return {map.data(), shape.m, shape.d}; }

  MatchShape shape;
  std::vector<float> query;
  std::vector<float> map;
};

// Share of checked rows, of the side that does worse, whose neighbour is the lowest-index winner in
// double precision or differs from it by no more than float32 rounding can explain. Rows are evenly
// spaced, and so many that the check stays cheap.
double share_equal(const MatchData& data, const NearestNeighbours& found);

double median(std::vector<double> values);

// "fp32", "fp16", "bf16"; throws Error(bad_option).
RowType parse_element_type(std::string_view text);
std::string_view element_type_name(RowType type);  // float32, float16, bfloat16

}  // namespace skyfix::bench
