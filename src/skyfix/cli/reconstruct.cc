#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/log.h"
#include "skyfix/base/parallel.h"
#include "skyfix/base/text.h"
#include "skyfix/base/version.h"
#include "skyfix/cli/commands.h"
#include "skyfix/cli/frame_options.h"
#include "skyfix/cli/interrupt.h"
#include "skyfix/cli/stream_arguments.h"
#include "skyfix/memory/budgeted_device.h"
#include "skyfix/memory/owner_scope.h"
#include "skyfix/memory/plan_reconstruct.h"
#include "skyfix/nn/tensor_source.h"
#include "skyfix/report/plan_report.h"
#include "skyfix/report/stream_run.h"
#include "skyfix/stream/window_plan.h"

namespace skyfix::cli {
namespace fs = std::filesystem;

namespace {

// Of an input whose length nobody knows: an hour at 20 frames a second, one in ten kept.
constexpr std::int64_t kFramesOfUnknown = 7'200;

// What the planner knows and this version cannot do.
constexpr const char* kNotOfferedYet =
    "(reconstruct does not have --kv-dtype, --tail-frames and --offload yet: take --window, "
    "--num-scale-frames, --image-size or --head-precision)";

struct ReconstructArguments {
  FrameArguments frames;
  GctArguments network;
  StreamArguments stream;
  StreamOutputs outputs;
  std::string depth = "none";
  std::string device = "auto";
  std::string gpu_memory;
  std::string host_memory;
  std::string out;
  bool resume = false;
  bool strict = false;
  bool dry_run = false;
};

std::optional<std::uint64_t> size_if_given(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  return parse_byte_size(text, option);
}

BudgetedDevice open_device(const ReconstructArguments& arguments) {
  BudgetedDevice device = open_budgeted_device(
      arguments.device, {size_if_given(arguments.gpu_memory, "--gpu-memory"),
                         size_if_given(arguments.host_memory, "--host-memory")});
  for (const std::string& note : device.notes) log::info("{}", note);
  return device;
}

DataType data_type_of(Precision precision) {
  return precision == Precision::fp32 ? DataType::fp32 : DataType::bf16;
}

// What the network will need for this input, with the largest window that fits where none is given.
ReconstructPlan plan_of(const ReconstructArguments& arguments, const FrameSourceInfo& info,
                        const GctOptions& network, const BudgetedDevice& device) {
  ReconstructRequest request;
  request.width = info.width > 0 ? info.width : 16;
  request.height = info.height > 0 ? info.height : 9;
  request.frames = std::max<std::int64_t>(1, info.frames.value_or(kFramesOfUnknown));
  request.image_size = arguments.stream.options.image_size;
  request.window = arguments.stream.given_window();
  request.num_scale_frames = arguments.stream.options.stream.num_scale_frames;
  if (arguments.stream.keyframe_interval != "auto") {
    request.keyframe_interval = parse_integer(arguments.stream.keyframe_interval);
  }
  request.tail_frames = -1;  // all special tokens are kept
  request.dtype = data_type_of(network.placement.precision);
  request.head_dtype = data_type_of(network.heads);
  request.kv_dtype = request.dtype;
  request.point_head = network.point_head;
  request.device = network.placement.device;
  return plan_reconstruct(request, device.budget);
}

// Says how memory is planned. False: it does not fit, and the plan with what would is shown.
bool accept_plan(const ReconstructPlan& planned) {
  for (const std::string& note : planned.plan.notes) log::info("{}", note);
  if (planned.plan.peak_bytes > 0) {
    log::info("plan: {} of GPU memory at most ({})", format_byte_size(planned.plan.peak_bytes),
              options_text(planned.plan.settings));
  }
  if (planned.plan.fits) return true;
  std::fputs(plan_table(planned.plan).c_str(), stderr);
  std::fprintf(stderr, "%s\n", kNotOfferedYet);
  return false;
}

Json network_configuration(const Gct& network) {
  const GctOptions& options = network.options();
  const GctConfig& config = network.config();
  return {{"weights_sha256", network.weights_hash()},
          {"width", config.width},
          {"precision", std::string(precision_name(options.placement.precision))},
          {"head_precision", std::string(precision_name(options.heads))},
          {"camera_iterations", options.camera_iterations},
          {"point_head", options.point_head}};
}

StreamRunSetup setup_of(const ReconstructArguments& arguments, const ReconstructOptions& options,
                        const FrameSourceInfo& info, const Gct& network,
                        const BudgetedDevice& device) {
  StreamRunSetup setup;
  setup.configuration["skyfix"] = std::string(version());
  setup.configuration["command"] = "reconstruct";
  setup.configuration["source_sha256"] = sha256_hex(info.configuration);
  setup.configuration["network"] = network_configuration(network);
  setup.configuration["stream"] = stream_configuration(options);
  // Numbers of a network differ from one kind of device to another.
  setup.configuration["device"] = device.description;
  // On a CPU their last digits differ with the number of threads too.
  if (!device.device) setup.configuration["threads"] = thread_count();
  setup.about["input"] = shown_input(arguments.frames.options.input);
  setup.about["source"] = std::string(frame_source_kind_name(info.kind));
  setup.about["revision"] = std::string(git_revision());
  setup.about["threads"] = thread_count();
  setup.about["units"] = "arbitrary";
  setup.about["gpu_memory"] =
      arguments.gpu_memory.empty() ? Json(nullptr) : Json(arguments.gpu_memory);
  char host[256] = "";
  if (::gethostname(host, sizeof(host) - 1) == 0) setup.host.host = host;
  setup.outputs = arguments.outputs;
  setup.sky = !options.sky.mask_folder.empty() ? "masks of a folder"
              : options.sky.by_confidence      ? "far and uncertain pixels of the upper half"
                                               : "none";
  return setup;
}

std::shared_ptr<const Gct> load_network(const GctWeights& weights, const GctOptions& options) {
  const OwnerScope owner("gct weights");
  return std::make_shared<const Gct>(weights.source, weights.config, options);
}

// What the run used of the device, for the manifest.
Json memory_of(const BudgetedDevice& device) {
  const auto mib = [](std::uint64_t bytes) {
    return bytes == 0 ? Json(nullptr) : Json(static_cast<double>(bytes) / (1 << 20));
  };
  Json json;
  json["device"] = device.description;
  json["budget_mib"] = mib(device.budget.gpu_bytes);
  if (!device.ledger) return json;
  const LedgerFigures figures = device.ledger->figures();
  json["cap_mib"] = mib(figures.device.cap_bytes);
  json["allocated_peak_mib"] = mib(figures.device.peak_allocated_bytes);
  json["reserved_peak_mib"] = mib(figures.device.peak_reserved_bytes);
  json["used_mib"] = mib(figures.device.used_bytes);
  for (const auto& [owner, each] : figures.by_owner) {
    json["by_owner_mib"][owner] = mib(each.bytes_at_peak);
  }
  return json;
}

RunState state_of(const StreamResult& result, const FrameSourceInfo& info) {
  if (!result.ended_by.empty()) return RunState::stopped;
  // A live source has no end of its own: the user's is one.
  if (result.cancelled && info.kind != FrameSourceKind::live) return RunState::cancelled;
  return RunState::finished;
}

std::string summary_of(const StreamRun& run, const StreamResult& result) {
  const StreamCounts& counts = run.counts();
  std::string text = fmt::format("frames {}, ok {}", counts.frames, counts.with(StreamStatus::ok));
  for (const auto& [reason, frames] : counts.by_reason) {
    text += fmt::format(", {} {}", reason_name(reason), frames);
  }
  const StreamFigures& stream = result.figures;
  text += fmt::format("\nremembered at the end: {} frames whole, {} by their special tokens",
                      stream.whole_frames, stream.tail_frames);
  for (const WindowAlignment& window : stream.windows) {
    if (!window.depth_residual) continue;
    text += fmt::format("\nwindow {} from frame {}: scale {:.4g}, depth residual {:.3g}",
                        window.window, window.first_frame, window.scale, *window.depth_residual);
  }
  return text + "\nunits: arbitrary";
}

int report_run(const ReconstructArguments& arguments, const StreamRun& run, RunState state,
               const StreamResult& result) {
  std::puts(summary_of(run, result).c_str());
  if (!result.resume_note.empty()) log::info("{}", result.resume_note);
  if (result.source.dropped > 0) {
    log::warn(
        "{} frames were dropped because they came faster than they were worked on "
        "(--drop-policy block makes the sender wait)",
        result.source.dropped);
  }
  if (state == RunState::stopped) {
    throw Error(result.ended_reason.value_or(Reason::internal),
                result.ended_by + "; what was written is kept: go on with --resume");
  }
  if (state == RunState::cancelled) {
    std::printf("stopped; go on with the same command and --resume\n");
    return kExitCannotRun;
  }
  if (run.counts().with(StreamStatus::ok) == 0) log::warn("no frame could be reconstructed");
  const bool all_ok = run.counts().with(StreamStatus::ok) == run.counts().frames;
  return arguments.strict && !all_ok ? kExitSomeWithoutFix : kExitOk;
}

int list_frames(FrameSource& source) {
  while (const auto frame = source.next()) {
    std::printf("%lld\t%s\n", static_cast<long long>(frame->index), frame->name.c_str());
  }
  return kExitOk;
}

int run_reconstruct(ReconstructArguments arguments, const Globals& globals) {
  arguments.outputs.depth = depth_format_from_name(arguments.depth);
  arguments.outputs.validate();
  arguments.stream.parsed(64);  // refuses nonsense before anything is read
  const auto source = open_frames(arguments.frames.parsed());
  const FrameSourceInfo info = source->info();
  for (const std::string& note : info.notes) log::warn("{}", note);
  if (arguments.dry_run) return list_frames(*source);
  if (arguments.out.empty()) {
    throw Error(Reason::bad_option, "--out is missing: the run folder to write");
  }
  if (arguments.resume && info.kind == FrameSourceKind::live) {
    throw Error(Reason::bad_option, "--resume: a live source cannot be gone back to");
  }
  const GctWeights weights = open_gct_weights(arguments.network);
  const BudgetedDevice device = open_device(arguments);
  const GctOptions network_options =
      arguments.network.parsed(device.device ? DeviceKind::cuda : DeviceKind::cpu);
  int window = static_cast<int>(arguments.stream.given_window().value_or(64));
  const bool official = weights.config == gct_official();
  if (official && (device.device || !arguments.host_memory.empty())) {
    const ReconstructPlan planned = plan_of(arguments, info, network_options, device);
    if (!accept_plan(planned)) return kExitDoesNotFit;
    window = static_cast<int>(planned.settings.window);
  } else if (!arguments.host_memory.empty()) {
    log::info("--host-memory has no effect: only the official network is planned for");
  }
  ReconstructOptions options = arguments.stream.parsed(window);
  const auto network = load_network(weights, network_options);
  const StreamRunSetup setup = setup_of(arguments, options, info, *network, device);
  if (arguments.resume && !fs::exists(fs::path(arguments.out) / "run.json")) {
    log::warn("--resume: there is no run in {} yet; a new one begins", arguments.out);
  }
  StreamRun run = arguments.resume ? StreamRun::resume(arguments.out, setup)
                                   : StreamRun::create(arguments.out, setup);
  options.device = device.device.get();
  options.recorded_frames = std::ssize(run.recorded());
  options.checkpoint_folder = fs::path(arguments.out) / "checkpoints";
  log::warn("units are arbitrary: nothing in a video alone says how large things are");

  catch_interrupts();
  StreamResult result;
  if (info.frames && options.recorded_frames == *info.frames &&
      info.kind != FrameSourceKind::video) {
    log::info("every frame is recorded already");
    run.finish(RunState::finished, "", {}, memory_of(device));
    return report_run(arguments, run, RunState::finished, result);
  }
  try {
    result = reconstruct(
        network, *source, options, [&](StreamFrame&& frame) { run.append(frame); },
        *globals.progress(), interrupted());
  } catch (const Error& error) {
    run.finish(RunState::stopped, error.what(), {}, memory_of(device));
    throw;
  }
  const RunState state = state_of(result, info);
  run.finish(state, result.ended_by, result.figures, memory_of(device));
  return report_run(arguments, run, state, result);
}

void add_output_options(CLI::App& app, ReconstructArguments& arguments) {
  CloudOptions& cloud = arguments.outputs.cloud_options;
  app.add_option("--out", arguments.out, "Run folder to write (new, or with --resume)");
  app.add_option("--depth", arguments.depth, "Depth maps: none, png (16 bits) or npy")
      ->capture_default_str();
  app.add_option("--conf-threshold,--conf_threshold", cloud.confidence_threshold,
                 "Points of the cloud are more confident than this")
      ->capture_default_str();
  app.add_option("--voxel", cloud.voxel,
                 "One point of the cloud a cube of this side, units of the stream; 0 = chosen from "
                 "the first frames' depth")
      ->capture_default_str();
  app.add_option("--downsample-factor,--downsample_factor", cloud.every,
                 "Every n-th of these pixels is taken")
      ->capture_default_str();
  app.add_option("--max-points", cloud.max_points, "Of the cloud; then its voxels grow")
      ->capture_default_str();
}

}  // namespace

void add_reconstruct(CLI::App& root, const Globals& globals, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "reconstruct", "Poses, depth and a point cloud of a video, frame by frame, without a map");
  auto arguments = std::make_shared<ReconstructArguments>();
  add_frame_options(*app, arguments->frames);
  add_output_options(*app, *arguments);
  add_gct_options(*app, arguments->network);
  add_stream_options(*app, arguments->stream);
  app->add_option("--device", arguments->device,
                  "auto (the GPU where one can be used), cpu or cuda")
      ->capture_default_str();
  app->add_option("--gpu-memory", arguments->gpu_memory,
                  "All device memory the program may use, e.g. 8GiB (default: what is free, less a "
                  "margin)");
  app->add_option("--host-memory", arguments->host_memory, "Limit of host memory, for the plan");
  app->add_flag("--resume", arguments->resume,
                "Go on with a run that was cut, keeping what it recorded");
  app->add_flag("--strict", arguments->strict, "Exit status 1 if any frame was not reconstructed");
  app->add_flag("--dry-run", arguments->dry_run, "Only list the frames that would be used");
  commands.push_back({app, [arguments, &globals] { return run_reconstruct(*arguments, globals); }});
}

}  // namespace skyfix::cli
