// `skyfix bench frames`: whole frames as a localization has them: decoding a photo, DINOv3 and
// VLAD, MASt3R against references, exact matching, the solve; once one stage after the other, once
// with neighbouring frames' stages at the same time. Networks have synthetic weights, which find no
// true pairs: of each frame's pairs, as many as the matcher found, the pixels are replaced by the
// points' projections in a known pose with noise, and some by random ones.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "bench/models_benchmark.h"

namespace skyfix::bench {

struct FramesBenchmarkOptions {
  ModelsBenchmarkOptions models;
  std::filesystem::path photos;  // folder of photos, taken in turn; their middle, 4:3, is used
  int frames = 60;
  int max_pairs = 1024;        // kept for the solve, the best
  double outlier_share = 0.5;  // of the pairs
};

// The exit status is 1 when a pose is wrong or the two orders of work differ in any result. Throws
// Error as open_models_bench and decode_image.
int run_frames_benchmark(const FramesBenchmarkOptions& options, std::ostream& out);

}  // namespace skyfix::bench
