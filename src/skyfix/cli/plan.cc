#include <cstdio>
#include <iostream>
#include <optional>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/cli/commands.h"
#include "skyfix/memory/cuda_library.h"
#include "skyfix/memory/plan_localize.h"
#include "skyfix/memory/plan_reconstruct.h"
#include "skyfix/report/plan_report.h"

namespace skyfix::cli {
namespace {

// Text that is parsed when the command runs: most of these may be "auto".
struct PlanArguments {
  std::string gpu_memory;
  std::string host_memory;
  std::string device = "cuda";
  std::string dtype = "auto";
  std::string head_dtype = "auto";
  std::string offload = "none";
  std::string json;
};

struct PlanLocalizeArguments : PlanArguments {
  LocalizeRequest request;
  std::string features = "sift";
  std::string image_size = "auto";
  std::string max_features = "auto";
  std::string ref_cache_max_frames = "auto";
  std::string match_chunk = "auto";
  std::string match_batch = "auto";
};

struct PlanReconstructArguments : PlanArguments {
  ReconstructRequest request;
  std::string window = "auto";
  std::string keyframe_interval = "auto";
  std::string kv_dtype = "auto";
};

std::optional<std::int64_t> number_or_auto(const std::string& text, const char* option) {
  if (text == "auto") return std::nullopt;
  const auto value = parse_integer(text);
  if (!value) {
    throw Error(Reason::bad_option,
                std::string(option) + ": '" + text + "' is neither a whole number nor auto");
  }
  return *value;
}

std::optional<DataType> type_or_auto(const std::string& text, const char* option) {
  if (text == "auto") return std::nullopt;
  return data_type_from_name(text, option);
}

std::optional<std::uint64_t> size_if_given(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  return parse_byte_size(text, option);
}

// This machine's card, for a plan without --gpu-memory. A size that is given may be meant for
// another machine, so no card is asked then.
std::optional<CardFacts> card_here() {
  if (!why_no_gpu().empty()) return std::nullopt;
  const CudaCard card = probe_cuda()->cards.front();
  return CardFacts{card.total_bytes, card.free_bytes > 0 ? card.free_bytes : card.total_bytes, 0,
                   card.virtual_memory};
}

Budget budget_of(const PlanArguments& arguments) {
  const BudgetRequest request{size_if_given(arguments.gpu_memory, "--gpu-memory"),
                              size_if_given(arguments.host_memory, "--host-memory")};
  if (device_kind_from_name(arguments.device, "--device") == DeviceKind::cuda) {
    return resolve_budget(request, request.gpu_bytes ? std::nullopt : card_here());
  }
  Budget budget;
  budget.gpu_bytes = request.gpu_bytes.value_or(0);
  budget.host_bytes = request.host_bytes;
  return budget;
}

template <class Request>
void take_common(const PlanArguments& arguments, Request& request) {
  request.dtype = type_or_auto(arguments.dtype, "--dtype");
  request.head_dtype = type_or_auto(arguments.head_dtype, "--head-dtype");
  request.offload = offload_from_name(arguments.offload, "--offload");
  request.device = device_kind_from_name(arguments.device, "--device");
}

int show(const Plan& plan, const PlanArguments& arguments) {
  if (!arguments.json.empty()) {
    write_output(arguments.json, plan_json(plan).dump(2) + "\n", std::cout);
  }
  std::fputs(plan_table(plan).c_str(), table_stream(arguments.json));
  return plan.fits ? kExitOk : kExitDoesNotFit;
}

int run_plan_localize(const PlanLocalizeArguments& arguments) {
  LocalizeRequest request = arguments.request;
  take_common(arguments, request);
  request.features = feature_kind_from_name(arguments.features, "--features");
  request.image_size = number_or_auto(arguments.image_size, "--image-size");
  request.max_features = number_or_auto(arguments.max_features, "--max-features");
  request.ref_cache_max_frames =
      number_or_auto(arguments.ref_cache_max_frames, "--ref-cache-max-frames");
  request.match_chunk = number_or_auto(arguments.match_chunk, "--match-chunk");
  request.match_batch = number_or_auto(arguments.match_batch, "--match-batch");
  return show(plan_localize(request, budget_of(arguments)).plan, arguments);
}

int run_plan_reconstruct(const PlanReconstructArguments& arguments) {
  ReconstructRequest request = arguments.request;
  take_common(arguments, request);
  request.window = number_or_auto(arguments.window, "--window");
  request.keyframe_interval = number_or_auto(arguments.keyframe_interval, "--keyframe-interval");
  request.kv_dtype = type_or_auto(arguments.kv_dtype, "--kv-dtype");
  Plan plan = plan_reconstruct(request, budget_of(arguments)).plan;
  plan.notes.push_back(
      "skyfix reconstruct does not have --kv-dtype, --tail-frames and --offload yet: its cache has "
      "the type of --precision, and every special token is kept (plan with --kv-dtype bf16 "
      "--tail-frames -1)");
  return show(plan, arguments);
}

// An alternative is tried by typing its options after the others: the last one counts.
template <class Value>
CLI::Option* add(CLI::App& app, const std::string& name, Value& value, const std::string& what) {
  return app.add_option(name, value, what)->capture_default_str()->take_last();
}

template <class Request>
void add_shape_options(CLI::App& app, Request& request, PlanArguments& arguments) {
  app.add_option("--width", request.width, "Of the pictures, px")->required()->take_last();
  app.add_option("--height", request.height, "Of the pictures, px")->required()->take_last();
  app.add_option("--frames", request.frames, "How many")->required()->take_last();
  add(app, "--gpu-memory", arguments.gpu_memory,
      "All of the process's GPU memory: 8GiB, 7.5G, 512MB, or bytes");
  add(app, "--host-memory", arguments.host_memory, "Limit of host memory (default: none)");
}

void add_common_options(CLI::App& app, PlanArguments& arguments, const std::string& offload) {
  add(app, "--dtype", arguments.dtype, "Of the networks: bf16, fp32 or auto");
  add(app, "--head-dtype", arguments.head_dtype, "Of their heads: bf16, fp32 or auto");
  add(app, "--offload", arguments.offload, offload);
  add(app, "--device", arguments.device, "cuda or cpu");
  add(app, "--json", arguments.json,
      "Write the plan to this file too; - = standard output, the table then goes to standard "
      "error");
}

void add_plan_localize(CLI::App& parent, Commands& commands) {
  CLI::App* app = parent.add_subcommand("localize", "What skyfix localize will need");
  auto arguments = std::make_shared<PlanLocalizeArguments>();
  LocalizeRequest& request = arguments->request;
  add_shape_options(*app, request, *arguments);
  add(*app, "--features,--matcher", arguments->features, "sift, xfeat, aliked or mast3r");
  add(*app, "--retrieval,--retriever", request.retrieval,
      "vlad, or dinov3-vits16, -vits16plus, -vitb16, -vitl16, -vitl16plus, -vith16plus");
  add(*app, "--vpr-query-resize", request.retrieval_size,
      "Long side of the picture for retrieval, px");
  add(*app, "--image-size", arguments->image_size, "Long side of the picture for features, px");
  add(*app, "--max-features", arguments->max_features, "Per photo");
  add(*app, "--reference-rows", request.reference_rows, "Descriptors of a map image, at most");
  add(*app, "--references", request.references, "Map images that a photo is matched with");
  add(*app, "--ref-cache-max-frames", arguments->ref_cache_max_frames,
      "Map images kept on the GPU; auto: 8, up to 8 GiB 4, less only if it must; 0 = none");
  add(*app, "--match-chunk", arguments->match_chunk, "Descriptors of a photo matched at once");
  add(*app, "--match-batch", arguments->match_batch, "Map images matched at once");
  add_common_options(*app, *arguments, "none, or weights: stream them from the host");
  commands.push_back({app, [arguments] { return run_plan_localize(*arguments); }});
}

void add_plan_reconstruct(CLI::App& parent, Commands& commands) {
  CLI::App* app =
      parent.add_subcommand("reconstruct", "What streaming reconstruction of a video will need");
  auto arguments = std::make_shared<PlanReconstructArguments>();
  ReconstructRequest& request = arguments->request;
  add_shape_options(*app, request, *arguments);
  add(*app, "--image-size", request.image_size, "Width that the network sees, px");
  add(*app, "--window", arguments->window,
      "Frames remembered whole; auto: 64, less if it must, not below 16");
  add(*app, "--num-scale-frames", request.num_scale_frames, "First frames, taken together");
  add(*app, "--keyframe-interval", arguments->keyframe_interval,
      "Every n-th frame is kept; auto: 1 up to 320 frames, then frames / 320");
  add(*app, "--tail-frames", request.tail_frames,
      "Frames beyond the window whose special tokens are kept; -1 = all");
  add(*app, "--kv-dtype", arguments->kv_dtype, "Of the cache: bf16, int8, fp32 or auto");
  app->add_flag("--point-head", request.point_head, "With the point head");
  add_common_options(*app, *arguments,
                     "none, weights or all (weights and cache): stream them from the host");
  commands.push_back({app, [arguments] { return run_plan_reconstruct(*arguments); }});
}

}  // namespace

void add_plan(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "plan", "Say before a run how much memory it will need, and what would fit");
  app->require_subcommand(1);
  add_plan_localize(*app, commands);
  add_plan_reconstruct(*app, commands);
}

}  // namespace skyfix::cli
