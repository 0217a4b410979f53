#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <cstdio>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/log.h"
#include "skyfix/base/parallel.h"
#include "skyfix/base/version.h"
#include "skyfix/cli/commands.h"
#include "skyfix/cli/compute_options.h"
#include "skyfix/cli/frame_options.h"
#include "skyfix/cli/interrupt.h"
#include "skyfix/cli/localize_input.h"
#include "skyfix/cli/method_options.h"
#include "skyfix/localize/runner.h"
#include "skyfix/report/map_sketch_data.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/table.h"

namespace skyfix::cli {
namespace fs = std::filesystem;

namespace {

struct LocalizeArguments {
  std::string map;
  FrameArguments frames;
  std::string out;
  std::string cameras;
  std::string policy = "retrieval-first";
  std::string descriptor_cache;  // empty = the user's cache folder
  bool dry_run = false;
  bool resume = false;
  bool strict = false;
  bool verify_map = false;
  LocalizeOptions options;
  MethodArguments methods;
  ComputeArguments compute;
};

// What the run matches with, opened.
struct OpenMethods {
  ChosenMethods chosen;
  Networks networks;
};

// Everything that results depend on, for the manifest and for --resume.
Json configuration_of(const LocalizeArguments& arguments, const Map& map,
                      const OpenMethods& methods) {
  const LocalizeOptions& options = arguments.options;
  Json json;
  json["skyfix"] = std::string(version());
  json["command"] = "localize";
  json["map_content_sha256"] = map.content_hash();
  json["cameras_sha256"] =
      arguments.cameras.empty() ? Json(nullptr) : Json(sha256_hex_of_file(arguments.cameras));
  json["options"] = {
      {"max_features", options.query_features.max_features},
      {"contrast_threshold", options.query_features.contrast_threshold},
      {"max_long_side_px", options.query_features.max_long_side_px},
      {"max_megapixels", options.max_megapixels},
      {"vpr_top_k", options.vpr_top_k},
      {"vpr_query_resize", options.vpr_query_resize},
      {"candidate_policy", std::string(candidate_policy_name(options.policy))},
      {"temporal_candidates", options.temporal_candidates},
      {"prior_candidates", options.prior_candidates},
      {"prior_radius_m", options.prior_radius_m},
      {"match_max_points", options.match_max_points},
      {"max_error_px", options.pose.max_error_px},
      {"refine_scale_px", options.pose.refine_scale_px},
      {"max_iterations", options.pose.max_iterations},
      {"refine_focal", options.pose.refine_focal},
      {"guided_radius_px", options.guided.radius_px},
      {"guided_min_score", options.guided.min_score},
      {"min_inliers", options.verdict.min_inliers},
      {"max_log10_false_alarms", options.verdict.max_log10_false_alarms},
      {"min_coverage", options.verdict.min_coverage},
      {"min_support", options.verdict.min_support},
      {"max_alternative_ratio", options.verdict.max_alternative_ratio},
      {"ba_window", options.ba_window},
      {"seed", options.seed},
  };
  json["methods"] = method_configuration(arguments.methods, methods.chosen, methods.networks);
  return json;
}

RunSetup setup_of(const LocalizeArguments& arguments, const Map& map, const LocalizeInput& input,
                  const OpenMethods& methods, const Compute& compute) {
  RunSetup setup;
  setup.configuration = configuration_of(arguments, map, methods);
  describe_input(input, setup);
  setup.about["map"] = fs::absolute(arguments.map).string();
  setup.about["revision"] = std::string(git_revision());
  setup.about["threads"] = thread_count();
  setup.about["compute"] = about_compute(arguments.compute, compute);
  setup.about["units"] = map.georegistration().known() ? "metres" : "arbitrary";
  setup.about["altitude_datum"] = std::string(altitude_datum_name(map.georegistration().datum));
  char host[256] = "";
  if (::gethostname(host, sizeof(host) - 1) == 0) setup.host.host = host;
  setup.memory_limits = memory_limits(compute);
  return setup;
}

DescriptorCache open_cache(const LocalizeArguments& arguments, const Map& map,
                           const OpenMethods& methods) {
  if (arguments.descriptor_cache == "off") return DescriptorCache({}, "", "");
  const MapPlaces places = map.places(methods.chosen.places);
  std::string kind = places.kind;
  // A network's descriptors are others in another precision.
  if (kind != "vlad-sift") {
    kind += "-" + std::string(precision_name(methods.networks.placement().precision));
  }
  const fs::path folder = arguments.descriptor_cache.empty() ? user_cache_folder() / "descriptors"
                                                             : fs::path(arguments.descriptor_cache);
  return DescriptorCache(folder, kind, places.vocabulary_hash);
}

void draw_sketch(const fs::path& run, const Map& map, const std::vector<Record>& records) {
  const MapSketch sketch = make_map_sketch(map, records, nullptr, run.filename().string());
  write_file_atomic(run / "map.svg", map_sketch_svg(sketch));
}

// Opens what the run computes with, and says how its memory is planned.
Compute open_planned(const LocalizeArguments& arguments, const LocalizeInput& input, const Map& map,
                     const std::string& features) {
  ComputeOptions options = arguments.compute.parsed();
  // Reading every photo's header takes its time: only where it is asked for.
  const bool wanted = options.host_bytes || uses_device(options);
  if (const auto photo = wanted ? largest_size(input) : std::nullopt) {
    if (options.host_bytes) {
      require_host_memory(*options.host_bytes, photo->width, photo->height,
                          arguments.options.query_features.max_long_side_px);
    }
    if (!features.empty()) {
      options.shape = shape_of_run(map.features(features), arguments.options, photo->width,
                                   photo->height, input.frames_expected());
      if (features != "sift") {
        const NetworkMatcherOptions& network = arguments.methods.options.network;
        options.shape->features = feature_kind_from_name(features, "--matcher");
        options.shape->image_size.reset();
        if (network.long_side_px > 0) options.shape->image_size = network.long_side_px;
        options.shape->max_features.reset();
        if (network.max_features > 0) options.shape->max_features = network.max_features;
      }
    }
  }
  Compute compute = open_compute(options);
  for (const std::string& note : compute.notes) log::info("{}", note);
  return compute;
}

// Localizes what is not recorded yet and settles the run folder.
BatchResult work_through(const LocalizeArguments& arguments, const Localizer& localizer,
                         const LocalizeInput& input, const Compute& compute, RunFolder& folder,
                         const Globals& globals) {
  catch_interrupts();
  std::int64_t frames = 0;
  const FrameSink sink = [&](const Fix& fix, const SourceFrame& frame) {
    folder.append({fix, frame.time_ns});
    const bool warm = ++frames == arguments.compute.no_allocation_after;
    if (warm && compute.ledger) compute.ledger->forbid_allocations(true);
  };
  BatchResult result;
  try {
    result = run_batch(localizer, *input.source, folder.recorded_fixes(), sink, *globals.progress(),
                       interrupted());
  } catch (const AllocationForbidden& forbidden) {
    folder.finish(RunState::stopped, forbidden.what());
    throw Error(Reason::internal, std::string(forbidden.what()) + " (--no-allocation-after)");
  }
  if (!result.device_failure.empty()) {
    folder.finish(RunState::stopped, result.device_failure);
  } else if (result.source_failure) {
    folder.finish(RunState::stopped, result.source_failure->what());
  } else {
    folder.finish(result.cancelled ? RunState::cancelled : RunState::finished);
  }
  return result;
}

// What a run met that no record says.
void report_source(const LocalizeInput& input) {
  const FrameSourceFigures figures = input.source->figures();
  if (figures.unreadable > 0) {
    log::warn("{} frames could not be read; their records say why", figures.unreadable);
  }
  if (figures.dropped > 0) {
    log::warn("{} frames came too fast and were dropped (--drop-policy, --queue, --stride)",
              figures.dropped);
  }
}

int report_run(const LocalizeArguments& arguments, const LocalizeInput& input, const Map& map,
               const RunFolder& folder, const BatchResult& result) {
  const std::vector<Record> records = read_run(arguments.out).records;
  draw_sketch(arguments.out, map, records);
  std::puts(run_summary(records).c_str());
  report_source(input);
  if (const auto starved = folder.counts().memory_failures(); starved > 0) {
    log::warn("{} frames ended for want of memory: the same command with --resume takes them again",
              starved);
  }
  if (!result.device_failure.empty()) {
    throw Error(Reason::device_failed,
                result.device_failure +
                    "; what was recorded is kept: go on with the same command and --resume");
  }
  if (result.source_failure) throw Error(*result.source_failure);
  if (result.cancelled && !input.is_live()) {
    std::printf("stopped; go on with the same command and --resume\n");
    return kExitCannotRun;
  }
  const bool all_fixed = folder.counts().with(FixStatus::ok) == folder.counts().frames;
  return arguments.strict && !all_fixed ? kExitSomeWithoutFix : kExitOk;
}

int run_localize(LocalizeArguments arguments, const Globals& globals) {
  arguments.options.policy = candidate_policy_from_name(arguments.policy);
  arguments.methods.apply(arguments.options);
  arguments.options.validate();
  arguments.compute.parsed();  // refuses nonsense before anything is read
  LocalizeInput input = open_localize_input(arguments.frames.parsed());
  if (arguments.dry_run) {
    list_frames(input);
    return kExitOk;
  }
  if (arguments.out.empty())
    throw Error(Reason::bad_option, "--out is missing: the run folder to write");
  if (arguments.resume && input.is_live()) {
    throw Error(Reason::bad_option,
                "--resume: nobody can go back in live input; give another --out");
  }
  const Map map = Map::open(arguments.map, arguments.verify_map);
  if (!map.georegistration().known()) {
    log::warn("the map is in arbitrary units: positions are not metres, and there is no latitude");
  }
  const GivenCameras cameras =
      arguments.cameras.empty() ? GivenCameras() : GivenCameras::read(arguments.cameras);
  const ComputeOptions compute_options = arguments.compute.parsed();
  const DeviceKind device = uses_device(compute_options) && compute_options.device != "host"
                                ? DeviceKind::cuda
                                : DeviceKind::cpu;
  OpenMethods methods{{}, Networks(arguments.methods.networks.parsed(device))};
  methods.chosen = choose_methods(map, arguments.methods.options, methods.networks);
  const Compute compute = open_planned(arguments, input, map, methods.chosen.features);
  LocalizeMethods opened = open_methods(map, methods.chosen, arguments.methods.options,
                                        arguments.options, methods.networks, compute.context());
  for (const std::string& file : methods.networks.unused_files()) {
    log::warn("{} holds weights that --matcher {} and {} do not use", file, methods.chosen.matcher,
              methods.chosen.places);
  }
  const DescriptorCache cache = open_cache(arguments, map, methods);
  const Localizer localizer(map, arguments.options, cameras, cache, compute.context(),
                            std::move(opened));

  const RunSetup setup = setup_of(arguments, map, input, methods, compute);
  RunFolder folder = arguments.resume ? RunFolder::resume(arguments.out, setup)
                                      : RunFolder::create(arguments.out, setup);
  if (!folder.recorded().empty()) {
    log::info("{} frames are recorded already and are kept", folder.recorded().size());
  }
  if (folder.taken_again() > 0) {
    log::info("{} frames from the first that ended for want of memory on are taken again",
              folder.taken_again());
  }
  const BatchResult result = work_through(arguments, localizer, input, compute, folder, globals);
  return report_run(arguments, input, map, folder, result);
}

void add_matching_options(CLI::App& app, LocalizeArguments& arguments) {
  LocalizeOptions& options = arguments.options;
  app.add_option("--vpr-top-k", options.vpr_top_k,
                 "Retrieved map images used first; three times as many are asked for")
      ->capture_default_str();
  app.add_option("--vpr-query-resize", options.vpr_query_resize,
                 "Long side of the picture that the global descriptor sees, px")
      ->capture_default_str();
  app.add_option("--candidate-policy", arguments.policy,
                 "retrieval-first, retrieval-only or temporal-first")
      ->capture_default_str();
  app.add_option("--temporal-candidates", options.temporal_candidates,
                 "Map images near the last good fix, at most; 0 = off")
      ->capture_default_str();
  app.add_flag("--prior-candidates", options.prior_candidates,
               "The photos' GPS proposes map images too");
  app.add_option("--prior-radius", options.prior_radius_m, "Of that, m")->capture_default_str();
  app.add_option("--match-max-points", options.match_max_points,
                 "Best matches kept after mutual filtering; 0 = all")
      ->capture_default_str();
  app.add_option(
      "--descriptor-cache", arguments.descriptor_cache,
      "Folder for the photos' global descriptors, or off (default: the user's cache folder)");
}

void add_solving_options(CLI::App& app, LocalizeArguments& arguments) {
  LocalizeOptions& options = arguments.options;
  app.add_option("--cameras", arguments.cameras,
                 "The photos' cameras: COLMAP cameras.txt or .bin, or an hloc list");
  app.add_option("--max-error", options.pose.max_error_px, "Inlier threshold of the first pose, px")
      ->capture_default_str();
  app.add_flag("--refine-focal", options.pose.refine_focal,
               "Refine the focal length too (never on flat nadir views: it cannot be seen there)");
  app.add_option("--ba-window", options.ba_window,
                 "Refine the newest frame jointly with the good frames before it, this many in "
                 "all; 0 = off")
      ->capture_default_str();
  app.add_option("--min-inliers", options.verdict.min_inliers, "Fewer are never a fix")
      ->capture_default_str();
  app.add_option("--max-megapixels", options.max_megapixels, "Larger photos are refused")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Same input and seed, same records")
      ->capture_default_str();
}

}  // namespace

void add_localize(CLI::App& root, const Globals& globals, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("localize", "Say where photos were taken, in a map: one record each");
  auto arguments = std::make_shared<LocalizeArguments>();
  app->add_option("--map", arguments->map, "Map folder (skyfix map build)")->required();
  add_frame_options(*app, arguments->frames);
  app->add_option("--out", arguments->out, "Run folder to write (new, or with --resume)");
  app->add_flag("--dry-run", arguments->dry_run, "Only list the frames that would be used");
  app->add_flag(
      "--resume", arguments->resume,
      "Go on with a run that was cut, keeping what it recorded; from the first frame that ended "
      "for want of memory on, frames are taken again");
  app->add_flag("--strict", arguments->strict, "Exit status 1 if any photo has no fix");
  app->add_flag("--verify-map", arguments->verify_map, "Compare the map's hashes first");
  add_method_options(*app, arguments->methods);
  add_matching_options(*app, *arguments);
  add_solving_options(*app, *arguments);
  add_compute_options(*app, arguments->compute);
  commands.push_back({app, [arguments, &globals] { return run_localize(*arguments, globals); }});
}

}  // namespace skyfix::cli
