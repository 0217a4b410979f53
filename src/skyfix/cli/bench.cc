#include <iostream>

#include "bench/localize_benchmark.h"
#include "bench/match_benchmark.h"
#include "skyfix/base/error.h"
#include "skyfix/cli/commands.h"

namespace skyfix::cli {
namespace {

struct MatchArguments {
  std::string device = "cpu";
  std::string sizes;
  int dimension = 24;
  int repeat = bench::MatchBenchmarkOptions().repeat;
  std::string csv;
};

int run_match(const MatchArguments& arguments, const Globals& globals) {
  if (arguments.device != "cpu") {
    throw Error(Reason::bad_option,
                "--device " + arguments.device + ": this version matches on the cpu only");
  }
  bench::MatchBenchmarkOptions options;
  if (!arguments.sizes.empty()) {
    options.sizes = bench::parse_match_shapes(arguments.sizes, arguments.dimension);
  }
  options.repeat = arguments.repeat;
  options.threads = static_cast<std::size_t>(globals.threads);
  options.csv = arguments.csv;
  return bench::run_match_benchmark(options, std::cout);
}

void add_bench_localize(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand("localize", "How long a photo takes, by stage");
  auto options = std::make_shared<bench::LocalizeBenchmarkOptions>();
  app->add_option("--map", options->map, "Map folder")->required();
  app->add_option("--input,--images", options->input, "Photo, folder or list")->required();
  app->add_option("--repeat", options->repeat, "Rounds over all photos")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app->add_option("--csv", options->csv, "Write the rows to this file too");
  commands.push_back(
      {app, [options] { return bench::run_localize_benchmark(*options, std::cout); }});
}

}  // namespace

void add_bench(CLI::App& root, const Globals& globals, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "bench", "Measure speed on this machine, with a peer beside it in the same run");
  app->require_subcommand(1);
  CLI::App* match = app->add_subcommand("match", "Exact mutual matching beside FAISS on OpenBLAS");
  auto arguments = std::make_shared<MatchArguments>();
  match->add_option("--device", arguments->device, "cpu")->capture_default_str();
  match->add_option("--sizes", arguments->sizes,
                    "QUERYxMAP or QUERYxMAPxDIM, comma-separated (default "
                    "49152x861x24,49152x5000x24,8192x6000x128)");
  match->add_option("--dim", arguments->dimension, "Of sizes that do not name one")
      ->capture_default_str();
  match->add_option("--repeat", arguments->repeat, "Rounds; the median is printed")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  match->add_option("--csv", arguments->csv, "Write the rows to this file too");
  commands.push_back({match, [arguments, &globals] { return run_match(*arguments, globals); }});
  add_bench_localize(*app, commands);
}

}  // namespace skyfix::cli
