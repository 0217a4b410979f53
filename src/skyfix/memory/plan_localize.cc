#include "skyfix/memory/plan_localize.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_dinov3.h"
#include "skyfix/memory/footprint_mast3r.h"
#include "skyfix/memory/footprint_matcher.h"
#include "skyfix/memory/plan_search.h"

namespace skyfix {
namespace {

using Question = PlanQuestion<LocalizeRequest>;
using Change = PlanChange<LocalizeRequest>;
using Lever = PlanLever<LocalizeRequest>;

constexpr std::uint64_t kSmallCard = 8ULL << 30;
constexpr std::int64_t kSmallestChunk = 1024;
constexpr std::int64_t kPairsAtOnce = 5;
constexpr std::int64_t kSmallestSidePx = 64;
constexpr std::int64_t kUsualMegapixels = 400;
constexpr std::string_view kNoNetwork = "vlad";

void validate(const LocalizeRequest& request) {
  check_option("--width", request.width, 1, 1'000'000);
  check_option("--height", request.height, 1, 1'000'000);
  check_option("--frames", request.frames, 1, 1'000'000'000);
  check_option("--vpr-query-resize", request.retrieval_size, 16, 16'384);
  check_option("--image-size", request.image_size, 16, 16'384);
  check_option("--max-features", request.max_features, 1, 10'000'000);
  check_option("--reference-rows", request.reference_rows, 1, 10'000'000);
  check_option("--references", request.references, 1, 100'000);
  check_option("--ref-cache-max-frames", request.ref_cache_max_frames, 0, 1'000'000);
  check_option("--match-chunk", request.match_chunk, 1, 1'000'000'000);
  check_option("--match-batch", request.match_batch, 1, 100'000);
  if (request.dtype == DataType::int8 || request.head_dtype == DataType::int8) {
    throw Error(Reason::bad_option, "--dtype and --head-dtype are fp32 or bf16");
  }
  if (request.offload == Offload::all) {
    throw Error(Reason::bad_option, "--offload all: localize streams weights only");
  }
  if (request.retrieval == kNoNetwork || dinov3_model(request.retrieval)) return;
  std::string names(kNoNetwork);
  for (const Dinov3Model& model : dinov3_models()) names += ", " + std::string(model.name);
  throw Error(Reason::bad_option,
              fmt::format("--retrieval: '{}' is none of {}", request.retrieval, names));
}

std::int64_t long_side(const LocalizeRequest& request) {
  return request.image_size.value_or(default_feature_long_side(request.features));
}

Mast3rInput network_input(const LocalizeRequest& request) {
  return mast3r_input(request.width, request.height, long_side(request));
}

DataType compute_type(const LocalizeRequest& request) {
  return request.dtype.value_or(request.device == DeviceKind::cpu ? DataType::fp32
                                                                  : DataType::bf16);
}

std::int64_t query_rows(const LocalizeRequest& request) {
  // One descriptor a pixel: there is no number to ask for.
  if (request.features == FeatureKind::mast3r) return network_input(request).pixels();
  return request.max_features.value_or(default_query_rows(request.features));
}

// The usual number of cached references, and what the planner may go down to.
std::vector<std::int64_t> cache_choices(const Budget& budget) {
  std::vector<std::int64_t> choices;
  for (std::int64_t count = usual_cached_references(budget.gpu_bytes); count > 0; count /= 2) {
    choices.push_back(count);
  }
  choices.push_back(0);
  return choices;
}

std::vector<std::int64_t> batch_choices(const LocalizeRequest& request) {
  std::vector<std::int64_t> choices;
  if (request.features != FeatureKind::mast3r) choices.push_back(request.references);
  for (const std::int64_t references : {kPairsAtOnce, std::int64_t{2}, std::int64_t{1}}) {
    if (references <= request.references) choices.push_back(references);
  }
  return choices;
}

std::vector<std::int64_t> chunk_choices(std::int64_t rows) {
  std::vector<std::int64_t> choices = {rows};
  for (int i = 0; i < 3 && choices.back() / 4 >= kSmallestChunk; ++i) {
    choices.push_back(choices.back() / 4);
  }
  return choices;
}

// From the best result to the leanest: first the matcher's chunk, its batch, the heads' type, at
// last the cache.
std::vector<LocalizeSettings> levels(const LocalizeRequest& request, const Budget& budget) {
  LocalizeSettings settings{.query_rows = query_rows(request), .dtype = compute_type(request)};
  std::vector<DataType> head_types = {DataType::fp32};
  const bool has_heads = request.features == FeatureKind::mast3r;
  if (settings.dtype != DataType::fp32 && has_heads) head_types.push_back(DataType::bf16);
  std::vector<LocalizeSettings> all;
  for (const auto frames : given_or(request.ref_cache_max_frames, cache_choices(budget))) {
    for (const auto head_type : given_or(request.head_dtype, head_types)) {
      for (const auto batch : given_or(request.match_batch, batch_choices(request))) {
        for (const auto chunk : given_or(request.match_chunk, chunk_choices(settings.query_rows))) {
          settings.ref_cache_frames = frames;
          settings.head_dtype = head_type;
          settings.match_batch = batch;
          settings.match_chunk = chunk;
          all.push_back(settings);
        }
      }
    }
  }
  return all;
}

MatcherShape matcher_shape(const LocalizeRequest& request, const LocalizeSettings& settings) {
  MatcherShape shape{.dimension = descriptor_dimension(request.features),
                     .query_rows = settings.query_rows,
                     .reference_rows = request.reference_rows,
                     .references = request.references};
  if (request.features == FeatureKind::mast3r) {
    shape.reference_extra_bytes = mast3r_feature_bytes(network_input(request), settings.dtype);
  }
  return shape;
}

std::vector<ComponentNeed> needs_of(const LocalizeRequest& request,
                                    const LocalizeSettings& settings) {
  std::vector<ComponentNeed> needs;
  const auto append = [&](const std::vector<ComponentNeed>& more) {
    needs.insert(needs.end(), more.begin(), more.end());
  };
  const bool stream = request.offload == Offload::weights;
  if (const auto model = dinov3_model(request.retrieval)) {
    const std::int64_t tokens =
        dinov3_tokens(request.width, request.height, request.retrieval_size);
    append({dinov3_need(*model, tokens, settings.dtype, stream)});
  }
  if (request.features == FeatureKind::mast3r) {
    append(mast3r_needs(network_input(request), {.weights = settings.dtype,
                                                 .compute = settings.dtype,
                                                 .heads = settings.head_dtype,
                                                 .pairs_at_once = settings.match_batch,
                                                 .stream_weights = stream}));
  }
  append(feature_needs(request.features,
                       scaled_pixels(request.width, request.height, long_side(request))));
  append(glue_needs(request.features, settings.query_rows, request.reference_rows));
  append(matcher_needs(matcher_shape(request, settings),
                       {.cache_references = settings.ref_cache_frames,
                        .chunk_rows = settings.match_chunk,
                        .batch_references = settings.match_batch}));
  ComponentNeed photo{.owner = "decoded photo"};
  photo.host_bytes = static_cast<std::uint64_t>(3) * request.width * request.height;
  append({photo});
  return needs;
}

std::vector<PlanOption> options_of(const Question& question) {
  const LocalizeRequest& request = question.request;
  return {{"--features", std::string(feature_kind_name(request.features))},
          {"--retrieval", request.retrieval},
          {"--vpr-query-resize", typed_number(request.retrieval_size)},
          {"--image-size", typed_number(request.image_size)},
          {"--max-features", typed_number(request.max_features)},
          {"--ref-cache-max-frames", typed_number(request.ref_cache_max_frames)},
          {"--match-chunk", typed_number(request.match_chunk)},
          {"--match-batch", typed_number(request.match_batch)},
          {"--dtype", typed_type(request.dtype)},
          {"--head-dtype", typed_type(request.head_dtype)},
          {"--offload", std::string(offload_name(request.offload))},
          {"--device", std::string(device_kind_name(request.device))},
          {"--gpu-memory", typed_size(question.budget.gpu_bytes)},
          {"--host-memory", typed_size(question.budget.host_bytes.value_or(0))}};
}

std::vector<PlanOption> chosen_options(const LocalizeRequest& request,
                                       const LocalizeSettings& settings) {
  const bool network = request.features == FeatureKind::mast3r || request.retrieval != kNoNetwork;
  std::vector<PlanOption> options = {
      {"--features", std::string(feature_kind_name(request.features))},
      {"--retrieval", request.retrieval},
      {"--image-size", typed_number(long_side(request))},
      {"--max-features", typed_number(settings.query_rows)},
      {"--ref-cache-max-frames", typed_number(settings.ref_cache_frames)},
      {"--match-chunk", typed_number(settings.match_chunk)},
      {"--match-batch", typed_number(settings.match_batch)}};
  if (network) {
    options.push_back({"--dtype", std::string(data_type_name(settings.dtype))});
    options.push_back({"--head-dtype", std::string(data_type_name(settings.head_dtype))});
    options.push_back({"--offload", std::string(offload_name(request.offload))});
  }
  options.push_back({"--device", std::string(device_kind_name(request.device))});
  return options;
}

// What the memory allows and localize would refuse all the same.
void note_refusals(const LocalizeRequest& request, Plan& plan) {
  if (std::min(request.width, request.height) < kSmallestSidePx) {
    plan.notes.push_back(
        fmt::format("photos with a side under {} px are refused", kSmallestSidePx));
  }
  if (request.width * request.height > kUsualMegapixels * 1'000'000) {
    plan.notes.push_back(fmt::format(
        "photos of more than {} megapixels are refused unless --max-megapixels allows them",
        kUsualMegapixels));
  }
}

LocalizePlan plan_level(const Question& question, LocalizeSettings settings) {
  const LocalizeRequest& request = question.request;
  settings.ref_cache_bytes =
      settings.ref_cache_frames * reference_bytes(matcher_shape(request, settings));
  LocalizePlan result{
      make_plan("localize", request.device, question.budget, needs_of(request, settings)),
      settings};
  Plan& plan = result.plan;
  if (request.features == FeatureKind::mast3r) {
    plan.input_width = network_input(request).width;
    plan.input_height = network_input(request).height;
  }
  plan.settings = chosen_options(request, settings);
  plan.notes = question.budget.notes;
  note_refusals(request, plan);
  const std::int64_t usual = cache_choices(question.budget).front();
  if (!request.ref_cache_max_frames && settings.ref_cache_frames < usual) {
    plan.notes.push_back(
        fmt::format("{} references are cached instead of {}", settings.ref_cache_frames, usual));
  }
  return result;
}

LocalizePlan plan_question(const Question& question) {
  return first_that_fits(
      levels(question.request, question.budget),
      [&](const LocalizeSettings& settings) { return plan_level(question, settings); });
}

// Steps down from what is fixed; nothing where the planner chooses.
Lever number_lever(std::string what, std::optional<std::int64_t> LocalizeRequest::*option,
                   const LocalizeRequest& asked, const std::vector<std::int64_t>& values) {
  Lever lever{std::move(what), {}};
  for (const std::int64_t value : values) {
    if (!(asked.*option) || value >= *(asked.*option)) continue;
    lever.steps.push_back([=](Question& question) { question.request.*option = value; });
  }
  return lever;
}

std::vector<std::int64_t> halves(std::int64_t from, std::int64_t least) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = from / 2; value >= least; value /= 2) values.push_back(value);
  return values;
}

Lever retrieval_lever(const LocalizeRequest& asked) {
  Lever lever{"a smaller retriever", {}};
  const auto model = dinov3_model(asked.retrieval);
  if (!model) return lever;
  std::vector<std::string> smaller = {std::string(kNoNetwork)};
  for (const Dinov3Model& each : dinov3_models()) {
    if (dinov3_parameters(each) < dinov3_parameters(*model)) smaller.emplace_back(each.name);
  }
  for (auto name = smaller.rbegin(); name != smaller.rend(); ++name) {
    lever.steps.push_back(
        [name = *name](Question& question) { question.request.retrieval = name; });
  }
  return lever;
}

Lever features_lever(const LocalizeRequest& asked) {
  Lever lever{"other features", {}};
  // Only sift needs no network.
  for (const FeatureKind kind : {FeatureKind::xfeat, FeatureKind::sift}) {
    if (kind == asked.features || asked.features == FeatureKind::sift) continue;
    lever.steps.push_back([kind](Question& question) {
      question.request.features = kind;
      question.request.image_size.reset();
      question.request.max_features.reset();
    });
  }
  return lever;
}

Lever size_lever(const LocalizeRequest& asked) {
  Lever lever{"a smaller picture", {}};
  for (const std::int64_t size : {768, 512, 384, 256}) {
    // So narrow a picture that nothing is left of it is no way out.
    const std::int64_t narrow = std::min(asked.width, asked.height) * size;
    const bool patches_left = narrow >= 17 * std::max(asked.width, asked.height);
    if (size >= long_side(asked) || !patches_left) continue;
    lever.steps.push_back([=](Question& question) { question.request.image_size = size; });
  }
  return lever;
}

Lever rows_lever(const LocalizeRequest& asked) {
  Lever lever{"fewer features", {}};
  if (asked.features == FeatureKind::mast3r) return lever;
  for (const std::int64_t rows : halves(query_rows(asked), 500)) {
    lever.steps.push_back([=](Question& question) { question.request.max_features = rows; });
  }
  return lever;
}

std::vector<Lever> levers(const LocalizeRequest& asked) {
  std::vector<Lever> all = {
      number_lever("a smaller reference cache", &LocalizeRequest::ref_cache_max_frames, asked,
                   {8, 4, 2, 1, 0}),
      number_lever("half the matcher's chunk", &LocalizeRequest::match_chunk, asked,
                   halves(asked.match_chunk.value_or(0), kSmallestChunk)),
      number_lever("a smaller batch", &LocalizeRequest::match_batch, asked,
                   halves(asked.match_batch.value_or(0), 1)),
      retrieval_lever(asked),
      features_lever(asked),
      size_lever(asked),
      rows_lever(asked)};
  if (asked.device == DeviceKind::cpu) return all;
  if (asked.offload == Offload::none) {
    all.push_back({"weights streamed from the host",
                   {[](Question& question) { question.request.offload = Offload::weights; }}});
  }
  all.push_back(
      {"the CPU", {[](Question& question) { question.request.device = DeviceKind::cpu; }}});
  return all;
}

// Savings that may go along with a lever, each set containing the one before.
std::vector<Change> reliefs() {
  const auto free_matcher = [](Question& question) {
    question.request.ref_cache_max_frames.reset();
    question.request.match_chunk.reset();
    question.request.match_batch.reset();
  };
  return {free_matcher, [=](Question& question) {
            free_matcher(question);
            question.request.retrieval = kNoNetwork;
          }};
}

void use_usual_settings(Question& question) {
  const LocalizeRequest& asked = question.request;
  question.request = {.width = asked.width,
                      .height = asked.height,
                      .frames = asked.frames,
                      .reference_rows = asked.reference_rows,
                      .references = asked.references};
}

}  // namespace

std::int64_t usual_cached_references(std::uint64_t gpu_bytes) {
  return gpu_bytes <= kSmallCard ? 4 : 8;
}

LocalizePlan plan_localize(const LocalizeRequest& request, const Budget& budget) {
  validate(request);
  const Question question{request, budget};
  LocalizePlan result = plan_question(question);
  if (!result.plan.fits) {
    const PlanSearch<LocalizeRequest> search(
        [](const Question& each) { return plan_question(each).plan; }, options_of);
    result.plan.alternatives =
        search.alternatives(question, levers(request), reliefs(), use_usual_settings);
  }
  return result;
}

}  // namespace skyfix
