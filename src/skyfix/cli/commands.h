// The command line: one file per subcommand, nothing but options and wiring. Each add_* function
// declares its subcommand under `parent` and says what running it does.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "skyfix/base/file.h"
#include "skyfix/base/progress.h"
#include "skyfix/report/json_fields.h"

namespace skyfix::cli {

// Exit statuses (docs/cli.md).
inline constexpr int kExitOk = 0;
inline constexpr int kExitSomeWithoutFix = 1;  // --strict only
inline constexpr int kExitCannotRun = 2;
inline constexpr int kExitDoesNotFit = 3;  // the memory budget

// Options that every subcommand understands.
struct Globals {
  std::string log_level = "info";
  std::string log_format = "text";
  int threads = 0;
  bool no_progress = false;

  // A bar on a terminal, otherwise nothing.
  std::unique_ptr<Progress> progress() const;
};

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;  // returns the exit status; throws Error
};
using Commands = std::vector<Command>;

void add_map(CLI::App& root, const Globals& globals, Commands& commands);
void add_localize(CLI::App& root, const Globals& globals, Commands& commands);
void add_reconstruct(CLI::App& root, const Globals& globals, Commands& commands);
void add_evaluate(CLI::App& root, const Globals& globals, Commands& commands);
void add_simulate(CLI::App& root, const Globals& globals, Commands& commands);
void add_records(CLI::App& root, const Globals& globals, Commands& commands);
void add_export(CLI::App& root, const Globals& globals, Commands& commands);
void add_plan(CLI::App& root, const Globals& globals, Commands& commands);
void add_models(CLI::App& root, const Globals& globals, Commands& commands);
void add_bench(CLI::App& root, const Globals& globals, Commands& commands);
void add_doctor(CLI::App& root, const Globals& globals, Commands& commands);
void add_licenses(CLI::App& root, const Globals& globals, Commands& commands);

// Where a command's table goes: standard error when an output option has taken standard output
// ("-"), so that what reads that gets nothing else.
inline std::FILE* table_stream(const std::string& output_option) {
  return is_standard_output(output_option) ? stderr : stdout;
}

// Says on the log what a run's manifest warns of: not finished, arbitrary units.
void warn_of_run(const Json& manifest);

// The whole program: parses, runs, prints errors. Returns the exit status.
int run_program(int argc, char** argv);

}  // namespace skyfix::cli
