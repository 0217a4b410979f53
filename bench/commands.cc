#include "bench/commands.h"

#include <iostream>
#include <memory>
#include <string>

#include "bench/match_benchmark.h"
#include "bench/match_data.h"

namespace skyfix::bench {
namespace {

struct MatchArguments {
  MatchBenchmarkOptions options;
  std::string sizes;
  int dimension = 24;
  std::string type = "fp32";
};

int run_match(MatchArguments arguments, int threads) {
  MatchBenchmarkOptions& options = arguments.options;
  if (!arguments.sizes.empty()) {
    options.sizes = parse_match_shapes(arguments.sizes, arguments.dimension);
  }
  options.type = parse_element_type(arguments.type);
  options.threads = static_cast<std::size_t>(threads);
  return run_match_benchmark(options, std::cout);
}

}  // namespace

BenchCommand add_match_command(CLI::App& parent, const int& threads) {
  CLI::App* app = parent.add_subcommand("match", "Exact mutual matching beside LibTorch and FAISS");
  auto arguments = std::make_shared<MatchArguments>();
  app->add_option("--device", arguments->options.device, "cpu or cuda")->capture_default_str();
  app->add_option("--sizes", arguments->sizes,
                  "QUERYxMAP or QUERYxMAPxDIM, comma-separated (default "
                  "49152x861x24,49152x5000x24,8192x6000x128; on a GPU "
                  "196608x861x24,196608x5000x24,196608x50000x24)");
  app->add_option("--dim", arguments->dimension, "Of sizes that do not name one")
      ->capture_default_str();
  app->add_option("--dtype", arguments->type, "Of our rows on a GPU: fp32, fp16 or bf16")
      ->capture_default_str();
  app->add_option("--repeat", arguments->options.repeat, "Rounds; the median is printed")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app->add_flag("--all", arguments->options.all, "On a GPU: FAISS (on the CPU) at large sizes too");
  app->add_option("--csv", arguments->options.csv, "Write the rows to this file too");
  return {app, [arguments, &threads] { return run_match(*arguments, threads); }};
}

}  // namespace skyfix::bench
