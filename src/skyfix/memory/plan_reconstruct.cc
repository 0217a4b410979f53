#include "skyfix/memory/plan_reconstruct.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/memory/plan_search.h"

namespace skyfix {
namespace {

using Question = PlanQuestion<ReconstructRequest>;
using Change = PlanChange<ReconstructRequest>;
using Lever = PlanLever<ReconstructRequest>;

constexpr std::int64_t kUsualWindow = 64;
// Below this the planner does not go by itself: too little is remembered.
constexpr std::int64_t kSmallestChosenWindow = 16;
constexpr std::int64_t kUsualTail = 256;
constexpr std::int64_t kDecodedAhead = 16;  // pictures waiting on the host
// What a copy from pinned host memory reaches on PCIe 4.0 x16. An assumption.
constexpr double kCopyBytesPerSecond = 20e9;

void validate(const ReconstructRequest& request) {
  check_option("--width", request.width, 1, 1'000'000);
  check_option("--height", request.height, 1, 1'000'000);
  check_option("--frames", request.frames, 1, 1'000'000'000);
  check_option("--image-size", request.image_size, 14, 4'200);
  check_option("--window", request.window, 1, 1'000'000);
  check_option("--num-scale-frames", request.num_scale_frames, 1, 1'000);
  check_option("--keyframe-interval", request.keyframe_interval, 1, 1'000'000'000);
  check_option("--tail-frames", request.tail_frames, -1, 1'000'000'000);
  for (const auto& [name, type] :
       {std::pair("--dtype", request.dtype), std::pair("--head-dtype", request.head_dtype)}) {
    if (type == DataType::int8) {
      throw Error(Reason::bad_option, fmt::format("{} int8: only the cache can be int8", name));
    }
  }
}

DataType compute_type(const ReconstructRequest& request) {
  return request.dtype.value_or(request.device == DeviceKind::cpu ? DataType::fp32
                                                                  : DataType::bf16);
}

// From the best result to the leanest: first the heads' type gives way, then the cache's, then the
// window.
std::vector<GctSettings> levels(const ReconstructRequest& request) {
  GctSettings settings{.frames = request.frames,
                       .num_scale_frames = request.num_scale_frames,
                       .keyframe_interval = request.keyframe_interval.value_or(0),
                       .tail_frames = request.tail_frames,
                       .weights = compute_type(request),
                       .compute = compute_type(request),
                       .point_head = request.point_head,
                       .offload = request.offload};
  std::vector<DataType> kv_types = {DataType::fp32, DataType::bf16, DataType::int8};
  std::vector<DataType> head_types = {DataType::fp32, DataType::bf16};
  if (settings.compute == DataType::bf16) kv_types.erase(kv_types.begin());
  if (settings.compute == DataType::fp32) head_types.pop_back();
  std::vector<GctSettings> all;
  for (const std::int64_t window :
       given_or<std::int64_t>(request.window, {kUsualWindow, 48, 32, 24, kSmallestChosenWindow})) {
    for (const DataType kv : given_or(request.kv_dtype, kv_types)) {
      for (const DataType heads : given_or(request.head_dtype, head_types)) {
        settings.window = window;
        settings.kv = kv;
        settings.heads = heads;
        all.push_back(settings);
      }
    }
  }
  return all;
}

std::vector<PlanOption> options_of(const Question& question) {
  const ReconstructRequest& request = question.request;
  return {{"--image-size", typed_number(request.image_size)},
          {"--window", typed_number(request.window)},
          {"--num-scale-frames", typed_number(request.num_scale_frames)},
          {"--keyframe-interval", typed_number(request.keyframe_interval)},
          {"--tail-frames", typed_number(request.tail_frames)},
          {"--dtype", typed_type(request.dtype)},
          {"--head-dtype", typed_type(request.head_dtype)},
          {"--kv-dtype", typed_type(request.kv_dtype)},
          {"--offload", std::string(offload_name(request.offload))},
          {"--device", std::string(device_kind_name(request.device))},
          {"--gpu-memory", typed_size(question.budget.gpu_bytes)},
          {"--host-memory", typed_size(question.budget.host_bytes.value_or(0))}};
}

std::vector<PlanOption> chosen_options(const ReconstructRequest& request,
                                       const GctSettings& settings) {
  return {{"--image-size", typed_number(request.image_size)},
          {"--window", typed_number(settings.window)},
          {"--num-scale-frames", typed_number(settings.num_scale_frames)},
          {"--keyframe-interval", typed_number(gct_keyframe_interval(settings))},
          {"--tail-frames", typed_number(settings.tail_frames)},
          {"--dtype", std::string(data_type_name(settings.compute))},
          {"--head-dtype", std::string(data_type_name(settings.heads))},
          {"--kv-dtype", std::string(data_type_name(settings.kv))},
          {"--offload", std::string(offload_name(settings.offload))},
          {"--device", std::string(device_kind_name(request.device))}};
}

std::vector<std::string> notes_of(const ReconstructRequest& request, const GctInput& input,
                                  const GctSettings& settings) {
  std::vector<std::string> notes;
  if (!request.window && settings.window < kUsualWindow) {
    notes.push_back(fmt::format("window {} instead of {}: fewer frames are remembered whole",
                                settings.window, kUsualWindow));
  }
  const std::int64_t evicted = gct_kept_frames(settings) - gct_cached_frames(settings);
  if (gct_tail_frames(settings) < evicted) {
    notes.push_back(fmt::format("of {} evicted frames the special tokens of {} are kept", evicted,
                                gct_tail_frames(settings)));
  }
  if (!request.keyframe_interval && gct_keyframe_interval(settings) > 1) {
    notes.push_back(fmt::format("one frame in {} is kept: {} of {}",
                                gct_keyframe_interval(settings), gct_kept_frames(settings),
                                settings.frames));
  }
  if (request.device == DeviceKind::cuda && settings.offload != Offload::none) {
    const std::uint64_t bytes = gct_streamed_bytes(input, settings);
    notes.push_back(fmt::format("{} a frame are copied from the host: about {:.0f} ms at 20 GB/s",
                                format_byte_size(bytes),
                                1e3 * static_cast<double>(bytes) / kCopyBytesPerSecond));
  }
  if (request.device == DeviceKind::cpu) {
    notes.push_back("on the CPU a frame takes seconds, not milliseconds");
  }
  return notes;
}

ReconstructPlan plan_level(const Question& question, const GctInput& input,
                           const GctSettings& settings) {
  const ReconstructRequest& request = question.request;
  std::vector<ComponentNeed> needs = gct_needs(input, settings);
  needs.push_back({.owner = "decoded pictures",
                   .host_bytes = static_cast<std::uint64_t>(kDecodedAhead) * 3 * request.width *
                                 request.height});
  ReconstructPlan result{
      make_plan("reconstruct", request.device, question.budget, std::move(needs)), input, settings};
  result.plan.input_width = input.width;
  result.plan.input_height = input.height;
  result.plan.tokens_per_frame = input.tokens_per_frame();
  result.plan.settings = chosen_options(request, settings);
  result.plan.notes = question.budget.notes;
  const auto notes = notes_of(request, input, settings);
  result.plan.notes.insert(result.plan.notes.end(), notes.begin(), notes.end());
  return result;
}

ReconstructPlan plan_question(const Question& question) {
  const ReconstructRequest& request = question.request;
  const GctInput input = gct_input(request.width, request.height, request.image_size);
  return first_that_fits(levels(request), [&](const GctSettings& settings) {
    return plan_level(question, input, settings);
  });
}

Lever window_lever(const ReconstructRequest& asked) {
  Lever lever{"a smaller window", {}};
  for (const std::int64_t window : {48, 32, 24, 16, 12, 8, 4, 2, 1}) {
    if (window >= asked.window.value_or(kSmallestChosenWindow)) continue;
    lever.steps.push_back([=](Question& question) { question.request.window = window; });
  }
  return lever;
}

Lever scale_lever(const ReconstructRequest& asked) {
  Lever lever{"fewer scale frames", {}};
  for (const std::int64_t frames : {4, 2, 1}) {
    if (frames >= asked.num_scale_frames) continue;
    lever.steps.push_back([=](Question& question) { question.request.num_scale_frames = frames; });
  }
  return lever;
}

Lever size_lever(const ReconstructRequest& asked) {
  Lever lever{"smaller pictures", {}};
  for (const std::int64_t size : {448, 392, 336, 280, 224, 168, 112}) {
    // A very wide picture has no row left at a small size.
    const bool rows_left = 2 * asked.height * size > 14 * asked.width;
    if (size >= asked.image_size || !rows_left) continue;
    lever.steps.push_back([=](Question& question) { question.request.image_size = size; });
  }
  return lever;
}

Lever tail_lever(const ReconstructRequest& asked) {
  Lever lever{"special tokens of fewer evicted frames", {}};
  // By default there are few: less than that is no way out.
  if (asked.tail_frames >= 0 && asked.tail_frames <= kUsualTail) return lever;
  for (const std::int64_t frames : {kUsualTail, std::int64_t{64}, std::int64_t{0}}) {
    lever.steps.push_back([=](Question& question) { question.request.tail_frames = frames; });
  }
  return lever;
}

// What is not set is made small by the planner anyway.
void use_small_types(Question& question) {
  if (question.request.kv_dtype) question.request.kv_dtype = DataType::int8;
  if (question.request.head_dtype) question.request.head_dtype = DataType::bf16;
}

std::vector<Lever> levers(const ReconstructRequest& asked) {
  std::vector<Lever> all;
  if (asked.kv_dtype && *asked.kv_dtype != DataType::int8) {
    all.push_back({"an 8-bit cache",
                   {[](Question& question) { question.request.kv_dtype = DataType::int8; }}});
  }
  if (compute_type(asked) == DataType::fp32 && asked.device == DeviceKind::cuda) {
    all.push_back(
        {"half precision", {[](Question& question) { question.request.dtype = DataType::bf16; }}});
  }
  all.push_back(window_lever(asked));
  all.push_back(scale_lever(asked));
  all.push_back(size_lever(asked));
  all.push_back(tail_lever(asked));
  if (asked.device == DeviceKind::cpu) return all;
  if (asked.offload == Offload::none) {
    all.push_back({"weights streamed from the host",
                   {[](Question& question) { question.request.offload = Offload::weights; }}});
  }
  if (asked.offload != Offload::all) {
    all.push_back({"weights and cache streamed from the host",
                   {[](Question& question) { question.request.offload = Offload::all; }}});
  }
  all.push_back(
      {"the CPU", {[](Question& question) { question.request.device = DeviceKind::cpu; }}});
  return all;
}

void limit_window(Question& question, std::int64_t window) {
  question.request.window = std::min(question.request.window.value_or(kUsualWindow), window);
}

void use_smallest_window(Question& question) {
  use_small_types(question);
  limit_window(question, 4);
  question.request.num_scale_frames = std::min<std::int64_t>(question.request.num_scale_frames, 2);
}

// Savings that may go along with a lever, each set containing the one before.
std::vector<Change> reliefs() {
  return {use_small_types,
          [](Question& question) {
            use_small_types(question);
            if (question.request.window) limit_window(question, kSmallestChosenWindow);
          },
          use_smallest_window,
          [](Question& question) {
            use_smallest_window(question);
            if (question.request.device == DeviceKind::cuda)
              question.request.offload = Offload::all;
          }};
}

void use_usual_settings(Question& question) {
  const ReconstructRequest& asked = question.request;
  question.request = {.width = asked.width,
                      .height = asked.height,
                      .frames = asked.frames,
                      .point_head = asked.point_head};
}

}  // namespace

ReconstructPlan plan_reconstruct(const ReconstructRequest& request, const Budget& budget) {
  validate(request);
  const Question question{request, budget};
  ReconstructPlan result = plan_question(question);
  if (!result.plan.fits) {
    const PlanSearch<ReconstructRequest> search(
        [](const Question& each) { return plan_question(each).plan; }, options_of);
    result.plan.alternatives =
        search.alternatives(question, levers(request), reliefs(), use_usual_settings);
  }
  return result;
}

}  // namespace skyfix
