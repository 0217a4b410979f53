#include <iostream>

#include "bench/commands.h"
#include "bench/frames_benchmark.h"
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

void add_bench_frames(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand(
      "frames", "Whole frames with MASt3R and DINOv3 (synthetic weights), stages overlapped");
  auto options = std::make_shared<bench::FramesBenchmarkOptions>();
  app->add_option("--photos", options->photos, "Folder of photos, taken in turn")->required();
  app->add_option("--device", options->models.device, "cuda or cpu")->capture_default_str();
  app->add_option("--precision", options->models.precision, "fp32, bf16 or fp16")
      ->capture_default_str();
  app->add_option("--frames", options->frames, "How many")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  app->add_option("--references", options->models.references, "MASt3R's, of a frame")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app->add_option("--image-size", options->models.long_side_px, "Of the networks, px")
      ->capture_default_str()
      ->check(CLI::Range(64, 2048));
  app->add_option("--match-max-points", options->max_pairs, "Pairs for the solve")
      ->capture_default_str()
      ->check(CLI::Range(4, 1 << 20));
  options->models.repeat = 0;  // no 3D points
  commands.push_back({app, [options] { return bench::run_frames_benchmark(*options, std::cout); }});
}

}  // namespace

void add_bench(CLI::App& root, const Globals& globals, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "bench", "Measure speed on this machine, with a peer beside it in the same run");
  app->require_subcommand(1);
  for (const auto add :
       {bench::add_match_command, bench::add_memory_command, bench::add_memory_stream_command,
        bench::add_stream_command, bench::add_models_command}) {
    const bench::BenchCommand command = add(*app, globals.threads);
    commands.push_back({command.app, command.run});
  }
  add_bench_localize(*app, commands);
  add_bench_frames(*app, commands);
}

}  // namespace skyfix::cli
