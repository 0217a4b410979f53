// The benchmarks' options, for `skyfix bench` and for the small program skyfix-bench alike.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace skyfix::bench {

struct BenchCommand {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit status; throws Error
};

// `threads`, read when the command runs: 0 = all cores. It must outlive the command.
BenchCommand add_match_command(CLI::App& parent, const int& threads);
// `memory localize`.
BenchCommand add_memory_command(CLI::App& parent, const int& threads);

}  // namespace skyfix::bench
