// `skyfix-bench xfeat-twin`: XFeat with LighterGlue beside its Python twin
// (bench/peers/xfeat_twin.py), which runs as a child process, photo by photo and pair by pair in
// turns: same photos, same map places (described by each beforehand), same weights, as many
// features, as many threads.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace skyfix::bench {

struct TwinBenchmarkOptions {
  std::string python = "python3";  // with the packages that xfeat_twin.py names
  std::filesystem::path script = "bench/peers/xfeat_twin.py";
  std::filesystem::path data;  // folder with reference.json, images and sparse
  std::filesystem::path weights_dir;
  int features = 2048;             // of a photo, the strongest
  std::vector<int> threads{1, 2};  // each by itself
  int repeat = 3;                  // rounds over all photos and pairs
};

// Prints a table; the exit status. Throws Error(bad_option) when the twin does not run,
// Error(missing_weights).
int run_twin_benchmark(const TwinBenchmarkOptions& options, std::ostream& out);

}  // namespace skyfix::bench
