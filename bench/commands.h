// The benchmarks' options, for `skyfix bench` and for the small program skyfix-bench alike.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <iosfwd>

namespace skyfix::bench {

struct BenchCommand {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit status; throws Error
};

inline constexpr const char* kCsvHelp =
    "Write the rows to this file too; - = standard output, the table then goes to standard error";

// Where the table goes beside a CSV.
std::ostream& table_stream(const std::filesystem::path& csv);

// `threads`, read when the command runs: 0 = all cores. It must outlive the command.
BenchCommand add_match_command(CLI::App& parent, const int& threads);
// `memory localize`.
BenchCommand add_memory_command(CLI::App& parent, const int& threads);
// `memory stream`; after add_memory_command.
BenchCommand add_memory_stream_command(CLI::App& parent, const int& threads);
BenchCommand add_stream_command(CLI::App& parent, const int& threads);
BenchCommand add_models_command(CLI::App& parent, const int& threads);
BenchCommand add_twin_command(CLI::App& parent);

}  // namespace skyfix::bench
