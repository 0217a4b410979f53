// The benchmark alone, for work on the matcher: skyfix_bench_match [sizes [repeat [threads
// [csv]]]].
#include <cstdio>
#include <iostream>

#include "bench/match_benchmark.h"
#include "skyfix/base/error.h"
#include "skyfix/base/text.h"

int main(int argc, char** argv) {
  try {
    skyfix::bench::MatchBenchmarkOptions options;
    if (argc > 1) options.sizes = skyfix::bench::parse_match_shapes(argv[1], 24);
    if (argc > 2) options.repeat = static_cast<int>(skyfix::parse_integer(argv[2]).value_or(0));
    if (argc > 3) options.threads = skyfix::parse_integer(argv[3]).value_or(0);
    if (argc > 4) options.csv = argv[4];
    return skyfix::bench::run_match_benchmark(options, std::cout);
  } catch (const skyfix::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}
