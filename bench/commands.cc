#include "bench/commands.h"

#include <iostream>
#include <limits>
#include <memory>
#include <string>

#include "bench/match_benchmark.h"
#include "bench/match_data.h"
#include "bench/memory_benchmark.h"
#include "bench/models_benchmark.h"
#include "bench/stream_benchmark.h"
#include "bench/twin_benchmark.h"
#include "skyfix/base/byte_size.h"
#include "skyfix/base/file.h"
#include "skyfix/base/parallel.h"

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
  return run_match_benchmark(options, table_stream(options.csv), std::cout);
}

struct MemoryArguments {
  MemoryBenchmarkOptions options;
  std::string gpu_memory = "8GiB";
  std::string faults;
};

int run_memory(MemoryArguments arguments, int threads) {
  MemoryBenchmarkOptions& options = arguments.options;
  options.gpu_bytes = parse_byte_size(arguments.gpu_memory, "--gpu-memory");
  options.faults = parse_fault_plan(arguments.faults, "--inject-allocation-failures");
  options.threads = static_cast<std::size_t>(threads);
  return run_memory_benchmark(options, table_stream(options.csv), std::cout);
}

struct ModelsArguments {
  ModelsBenchmarkOptions options;
  std::string gpu_memory;
};

int run_models(ModelsArguments arguments, int threads) {
  ModelsBenchmarkOptions& options = arguments.options;
  if (!arguments.gpu_memory.empty()) {
    options.gpu_bytes = parse_byte_size(arguments.gpu_memory, "--gpu-memory");
  }
  set_thread_count(static_cast<std::size_t>(threads));
  return run_models_benchmark(options, std::cout);
}

struct StreamArguments {
  StreamBenchmarkOptions options;
  std::string gpu_memory;
  StreamBenchmarkOptions parsed(int threads) const {
    StreamBenchmarkOptions parsed = options;
    if (!gpu_memory.empty()) parsed.gpu_bytes = parse_byte_size(gpu_memory, "--gpu-memory");
    set_thread_count(static_cast<std::size_t>(threads));
    return parsed;
  }
};

// What a stream's benchmarks have in common.
void add_stream_options(CLI::App& app, StreamArguments& arguments) {
  StreamBenchmarkOptions& options = arguments.options;
  options.stream.keyframe_interval = 1;
  app.add_option("--device", options.device, "cuda, cpu or auto")->capture_default_str();
  app.add_option("--gpu-memory", arguments.gpu_memory,
                 "Budget: all of the process's device memory (default: the whole card)");
  app.add_option("--precision,--dtype", options.precision, "Of the network: fp32, bf16 or fp16")
      ->capture_default_str();
  app.add_option("--head-precision", options.heads, "Of its heads")->capture_default_str();
  app.add_option("--weights", options.weights, "synthetic or synthetic:tiny")
      ->capture_default_str();
  app.add_option("--width", options.width, "Of the network's pictures, px")->capture_default_str();
  app.add_option("--height", options.height, "Of the network's pictures, px")
      ->capture_default_str();
  app.add_option("--window,--sliding-window", options.stream.window, "Frames remembered whole")
      ->capture_default_str();
  app.add_option("--num-scale-frames", options.stream.num_scale_frames,
                 "First frames, taken together")
      ->capture_default_str();
  app.add_option("--keyframe-interval", options.stream.keyframe_interval,
                 "Every n-th frame is remembered")
      ->capture_default_str();
  app.add_option("--camera-iterations", options.camera_iterations, "Rounds of the camera head")
      ->capture_default_str();
}

void add_walk_options(CLI::App& app, MemoryArguments& arguments) {
  WalkOptions& walk = arguments.options.walk;
  app.add_option("--frames", arguments.options.frames, "Photos of the batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--query-rows", walk.query_rows, "Descriptors of a photo (512 x 384)")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--dim", walk.dimension, "Entries of a descriptor")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app.add_option("--map-points", walk.map_points, "Of a reference, on average: 70 % to 130 %")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 22));
  app.add_option("--references", walk.references,
                 "Of a frame; two of five are also the frame before's")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--seed", walk.seed, "Same seed, same descriptors")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

std::ostream& table_stream(const std::filesystem::path& csv) {
  return is_standard_output(csv) ? std::cerr : std::cout;
}

BenchCommand add_match_command(CLI::App& parent, const int& threads) {
  CLI::App* app = parent.add_subcommand("match", "Exact mutual matching beside LibTorch and FAISS");
  auto arguments = std::make_shared<MatchArguments>();
  app->add_option("--device", arguments->options.device, "cpu or cuda")->capture_default_str();
  app->add_option("--sizes", arguments->sizes,
                  "QUERYxMAP or QUERYxMAPxDIM, comma-separated (default "
                  "49152x861x24,49152x5000x24,8192x6000x128; on a GPU "
                  "196608x861x24,196608x5000x24,196608x50000x24)");
  app->add_option("--dim", arguments->dimension, "Of sizes that do not name one")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostMatchEntries));
  app->add_option("--dtype", arguments->type, "Of our rows on a GPU: fp32, fp16 or bf16")
      ->capture_default_str();
  app->add_option("--repeat", arguments->options.repeat, "Rounds; the median is printed")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app->add_flag("--all", arguments->options.all, "On a GPU: FAISS (on the CPU) at large sizes too");
  app->add_option("--csv", arguments->options.csv, kCsvHelp);
  return {app, [arguments, &threads] { return run_match(*arguments, threads); }};
}

BenchCommand add_memory_command(CLI::App& parent, const int& threads) {
  CLI::App* memory = parent.add_subcommand("memory", "Memory of a long run under a budget");
  memory->require_subcommand(1);
  CLI::App* app = memory->add_subcommand(
      "localize", "Memory of the matcher over a batch that walks through ever new map regions");
  auto arguments = std::make_shared<MemoryArguments>();
  MemoryBenchmarkOptions& options = arguments->options;
  app->add_option("--device", options.device,
                  "cuda, or cpu: host memory in a device's place, with the same cap")
      ->capture_default_str();
  app->add_option("--gpu-memory", arguments->gpu_memory,
                  "Budget: all of the process's device memory")
      ->capture_default_str();
  app->add_option("--ref-cache-max-frames", options.cached_references,
                  "References kept on the device, at most (default 8; 4 up to 8 GiB); 0 = none")
      ->check(CLI::Range(0, 1'000'000));
  app->add_option("--inject-allocation-failures", arguments->faults,
                  "nth=K, above=SIZE or probability=P[,seed=S]: make allocations fail");
  app->add_option("--peer", options.peer,
                  "naive: the old way too, under the same cap: whole matrices, every reference "
                  "kept (needs cuda)");
  app->add_option("--csv", options.csv,
                  "Write a line for each frame to this file; - = standard output, the summary then "
                  "goes to standard error");
  add_walk_options(*app, *arguments);
  return {app, [arguments, &threads] { return run_memory(*arguments, threads); }};
}

BenchCommand add_models_command(CLI::App& parent, const int& threads) {
  CLI::App* app = parent.add_subcommand(
      "models", "MASt3R and DINOv3 with synthetic weights: times, memory, deviations");
  auto arguments = std::make_shared<ModelsArguments>();
  ModelsBenchmarkOptions& options = arguments->options;
  app->add_option("--device", options.device, "cuda or cpu")->capture_default_str();
  app->add_option("--precision", options.precision, "fp32, bf16 or fp16")->capture_default_str();
  app->add_option("--heads", options.heads, "Precision of MASt3R's heads (default: the same)");
  app->add_option("--gpu-memory", arguments->gpu_memory,
                  "Budget: all of the process's device memory (default: the whole card)");
  app->add_option("--repeat", options.repeat, "Timed calls each, eager and as graphs; 0 = none")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  app->add_option("--image-size", options.long_side_px, "Long side of the photos, px (4:3)")
      ->capture_default_str()
      ->check(CLI::Range(64, 2048));
  app->add_option("--references", options.references, "Of a photo")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  app->add_option("--places", options.places, "Described of each reference")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  app->add_option(
         "--frames", options.frames,
         "Photos of a run through ever new references, three of five new in each; 0 = none")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app->add_option("--ref-cache-max-frames", options.cached_features,
                  "References whose features are kept in that run (default 8); 0 = none")
      ->check(CLI::Range(0, 1'000'000));
  app->add_option("--goldens", options.goldens,
                  "Folder with mast3r/full_synthetic.safetensors and "
                  "dinov3/vitl16_synthetic.safetensors to compare with");
  app->add_option("--json", options.json, "Write the figures to this file too");
  return {app, [arguments, &threads] { return run_models(*arguments, threads); }};
}

BenchCommand add_twin_command(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand(
      "xfeat-twin", "XFeat with LighterGlue on the CPU beside its Python package");
  auto options = std::make_shared<TwinBenchmarkOptions>();
  app->add_option("--python", options->python, "Python with the packages that the script names")
      ->capture_default_str();
  app->add_option("--script", options->script, "The twin")->capture_default_str();
  app->add_option("--data", options->data, "Folder with reference.json, images and sparse")
      ->required();
  app->add_option("--weights-dir", options->weights_dir, "Folder to look for weights in first");
  app->add_option("--features", options->features, "Of a photo, the strongest")
      ->capture_default_str()
      ->check(CLI::Range(16, 1 << 16));
  app->add_option("--thread-counts", options->threads, "Each measured by itself, comma-separated")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  app->add_option("--repeat", options->repeat, "Rounds over all photos and pairs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  return {app, [options] { return run_twin_benchmark(*options, std::cout); }};
}

BenchCommand add_memory_stream_command(CLI::App& parent, const int& threads) {
  CLI::App* app = parent.get_subcommand("memory")->add_subcommand(
      "stream",
      "Time and memory of a reconstruction against its length: random weights, made-up "
      "pictures");
  auto arguments = std::make_shared<StreamArguments>();
  StreamBenchmarkOptions& options = arguments->options;
  options.frame_counts = {64, 128, 256, 512, 1024, 2048, 4096, 10000};
  add_stream_options(*app, *arguments);
  app->add_option("--frame-counts", options.frame_counts, "Lengths, one run each")
      ->capture_default_str();
  app->add_flag("--stop-on-oom", options.stop_on_oom, "End at the first length that does not fit");
  app->add_option("--csv,--output", options.csv,
                  "Write a line for each length to this file; - = standard output, the summary "
                  "then goes to standard error");
  return {app, [arguments, &threads] {
            const StreamBenchmarkOptions parsed = arguments->parsed(threads);
            return run_stream_sweep(parsed, table_stream(parsed.csv), std::cout);
          }};
}

BenchCommand add_stream_command(CLI::App& parent, const int& threads) {
  CLI::App* app = parent.add_subcommand(
      "stream", "A frame of a reconstruction: time by stage, memory by owner");
  auto arguments = std::make_shared<StreamArguments>();
  StreamBenchmarkOptions& options = arguments->options;
  add_stream_options(*app, *arguments);
  app->add_option("--frames", options.frames, "Measured; 0 = none")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app->add_option("--prefill", options.prefill,
                  "Begin as after so many remembered frames, with random keys: the steady state of "
                  "a long stream")
      ->capture_default_str();
  app->add_option("--profile", options.profile,
                  "Frames of the profile by stage, in the steady state; 0 = none")
      ->capture_default_str()
      ->check(CLI::Range(0, 10'000));
  app->add_option("--goldens", options.goldens,
                  "Folder with full_stream.safetensors to compare with");
  app->add_option("--json", options.json, "Write the figures to this file too");
  return {app, [arguments, &threads] {
            return run_stream_benchmark(arguments->parsed(threads), std::cout);
          }};
}

}  // namespace skyfix::bench
