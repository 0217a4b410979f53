#include <iostream>

#include "bench/commands.h"
#include "bench/localize_benchmark.h"
#include "skyfix/cli/commands.h"

namespace skyfix::cli {
namespace {

void add_bench_localize(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand("localize", "How long a photo takes, by stage");
  auto options = std::make_shared<bench::LocalizeBenchmarkOptions>();
  app->add_option("--map", options->map, "Map folder")->required();
  app->add_option("--input,--images", options->input, "Photo, folder or list")->required();
  app->add_option("--repeat", options->repeat, "Rounds over all photos")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app->add_option("--csv", options->csv, bench::kCsvHelp);
  commands.push_back({app, [options] {
                        return bench::run_localize_benchmark(
                            *options, bench::table_stream(options->csv), std::cout);
                      }});
}

}  // namespace

void add_bench(CLI::App& root, const Globals& globals, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "bench", "Measure speed on this machine, with a peer beside it in the same run");
  app->require_subcommand(1);
  for (const auto add :
       {bench::add_match_command, bench::add_memory_command, bench::add_models_command}) {
    const bench::BenchCommand command = add(*app, globals.threads);
    commands.push_back({command.app, command.run});
  }
  add_bench_localize(*app, commands);
}

}  // namespace skyfix::cli
