// `skyfix bench localize`: how long a photo takes, by stage, on this machine. Photos are localized
// one after the other as a run does, without writing; the descriptor cache is off.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>

namespace skyfix::bench {

struct LocalizeBenchmarkOptions {
  std::filesystem::path map;
  std::filesystem::path input;
  int repeat = 3;  // rounds over all photos; medians are printed
  std::filesystem::path csv;
};

// Prints median, smallest and largest milliseconds of each stage over photos and rounds, and
// writes them to the CSV ("-" = `standard_output`); returns the exit status. Throws Error as the
// localizer does.
int run_localize_benchmark(const LocalizeBenchmarkOptions& options, std::ostream& out,
                           std::ostream& standard_output);

}  // namespace skyfix::bench
