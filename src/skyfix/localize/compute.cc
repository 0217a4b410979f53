#include "skyfix/localize/compute.h"

#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/match/cuda_match_kernels.h"
#include "skyfix/memory/budgeted_device.h"
#include "skyfix/memory/footprint_features.h"
#include "skyfix/memory/plan_localize.h"

namespace skyfix {
namespace {

constexpr std::uint64_t kCacheShareOfCap = 2;  // one half

Compute on_cpu(const ComputeOptions& options) {
  if (options.faults.any()) {
    throw Error(Reason::bad_option,
                "--inject-allocation-failures needs a device whose allocations can fail: add "
                "--device cuda or --device host");
  }
  if (options.forbids_allocations) {
    throw Error(Reason::bad_option,
                "--no-allocation-after needs a device: add --device cuda or --device host");
  }
  Compute compute;
  compute.network_features = reference_cache_limits(options.cached_references, 0, 0);
  compute.matcher = std::make_unique<PoolMatcher>();
  return compute;
}

// The planner's chunk, batch and cache for the run's shapes. A plan that does not fit is no reason
// to refuse: no network has to be loaded, and the retry ladder ends on the CPU.
void plan_matching(Compute& compute, const ComputeOptions& options, const Budget& budget,
                   PoolMatcherOptions& matching) {
  LocalizeRequest request = *options.shape;
  if (options.cached_references) {
    request.ref_cache_max_frames = static_cast<std::int64_t>(*options.cached_references);
  }
  compute.plan = plan_localize(request, budget);
  const LocalizeSettings& settings = compute.plan->settings;
  matching.reference_cache.entries = settings.ref_cache_frames;
  // All rows, however many a photo has, unless the plan had to cut.
  matching.chunk_rows = settings.match_chunk < settings.query_rows ? settings.match_chunk : 0;
  matching.batch = settings.match_batch < request.references ? settings.match_batch : 0;
  const Plan& plan = compute.plan->plan;
  compute.notes.insert(compute.notes.end(), plan.notes.begin(), plan.notes.end());
  compute.notes.push_back(
      fmt::format("plan: {} of {} GPU memory at most ({})", format_byte_size(plan.peak_bytes),
                  format_byte_size(budget.gpu_bytes), options_text(plan.settings)));
  if (!plan.fits) {
    compute.notes.push_back(
        "the largest frames will not fit: they are matched in smaller pieces, at worst on the CPU");
  }
}

// Kernels and matcher on an opened device with its cap set.
void set_up_matcher(Compute& compute, std::unique_ptr<MatchKernels> kernels,
                    const ComputeOptions& options, const Budget& budget) {
  compute.kernels = std::move(kernels);
  compute.budget_bytes = budget.gpu_bytes;
  PoolMatcherOptions matching;
  matching.reference_cache = reference_cache_limits(options.cached_references, budget.gpu_bytes,
                                                    compute.device->figures().cap_bytes);
  if (options.shape && budget.gpu_bytes > 0) plan_matching(compute, options, budget, matching);
  compute.network_features = matching.reference_cache;
  compute.matcher = std::make_unique<PoolMatcher>(*compute.ledger, *compute.kernels, matching);
}

Compute on_host_device(const ComputeOptions& options) {
  Compute compute;
  Budget budget;
  budget.gpu_bytes = options.gpu_bytes.value_or(0);
  budget.context_bytes = 0;
  budget.context_measured = true;
  compute.device = make_host_device(budget.gpu_bytes);
  compute.description = compute.device->name();
  compute.ledger = std::make_unique<Ledger>(*compute.device, options.faults);
  set_up_matcher(compute, make_host_match_kernels(), options, budget);
  return compute;
}

Compute on_gpu(const ComputeOptions& options) {
  BudgetedDevice opened =
      open_budgeted_gpu({options.gpu_bytes, options.host_bytes}, options.faults);
  Compute compute;
  if (!options.shape) compute.notes = opened.budget.notes;  // otherwise the plan repeats them
  compute.notes.insert(compute.notes.end(), opened.notes.begin(), opened.notes.end());
  compute.description = opened.description;
  compute.device = std::move(opened.device);
  compute.ledger = std::move(opened.ledger);
  set_up_matcher(compute, make_cuda_match_kernels(opened.facts), options, opened.budget);
  return compute;
}

// What this process holds of main memory, by the kernel's count; 0 where it does not tell.
std::uint64_t resident_bytes() {
  std::ifstream pages("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  if (!(pages >> total >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void require_device_name(const std::string& name) {
  if (name == "auto" || name == "cpu" || name == "cuda" || name == "host") return;
  throw Error(Reason::bad_option, "--device is '" + name + "'; allowed is auto, cpu, cuda or host");
}

bool uses_device(const ComputeOptions& options) {
  return options.device == "auto" ? why_no_gpu().empty() : options.device != "cpu";
}

Compute open_compute(const ComputeOptions& options) {
  require_device_name(options.device);
  if (options.device == "auto") {
    const std::string why_not = why_no_gpu();
    if (why_not.empty()) return on_gpu(options);
    Compute compute = on_cpu(options);
    if (options.gpu_bytes) {
      compute.notes.push_back("--gpu-memory has no effect: the CPU is used (" + why_not + ")");
    }
    return compute;
  }
  if (options.device == "cpu") return on_cpu(options);
  if (options.device == "host") return on_host_device(options);
  return on_gpu(options);
}

LocalizeRequest shape_of_run(const MapFeatures& features, const LocalizeOptions& options,
                             int width_px, int height_px, std::int64_t frames) {
  LocalizeRequest shape;
  shape.width = width_px;
  shape.height = height_px;
  shape.frames = std::max<std::int64_t>(1, frames);
  shape.retrieval_size = options.vpr_query_resize;
  if (options.query_features.max_long_side_px > 0) {
    shape.image_size = options.query_features.max_long_side_px;
  }
  if (options.query_features.max_features > 0) {
    shape.max_features = options.query_features.max_features;
  }
  std::uint64_t most_rows = 1;
  for (std::size_t i = 0; i + 1 < features.offset.size(); ++i) {
    most_rows = std::max(most_rows, features.offset[i + 1] - features.offset[i]);
  }
  shape.reference_rows = static_cast<std::int64_t>(most_rows);
  const std::int64_t images = std::max<std::int64_t>(1, std::ssize(features.offset) - 1);
  shape.references = std::min<std::int64_t>(images, kPoolFactor * options.vpr_top_k);
  return shape;
}

CacheLimits reference_cache_limits(std::optional<std::uint64_t> references,
                                   std::uint64_t budget_bytes, std::uint64_t cap_bytes) {
  constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  const std::int64_t usual = usual_cached_references(budget_bytes > 0 ? budget_bytes : kUnlimited);
  CacheLimits limits;
  limits.entries = references.value_or(usual);
  limits.bytes =
      cap_bytes > 0 ? cap_bytes / kCacheShareOfCap : std::numeric_limits<std::uint64_t>::max();
  if (limits.entries == 0) limits.bytes = 0;
  return limits;
}

void require_host_memory(std::uint64_t host_bytes, int width_px, int height_px, int long_side_px) {
  const std::int64_t pixels = long_side_px > 0 ? scaled_pixels(width_px, height_px, long_side_px)
                                               : std::int64_t{width_px} * height_px;
  std::uint64_t needed = resident_bytes() + static_cast<std::uint64_t>(width_px) *
                                                static_cast<std::uint64_t>(height_px);
  for (const ComponentNeed& need : feature_needs(FeatureKind::sift, pixels)) {
    needed += need.host_bytes;
  }
  // The sum leaves out small things, and what is advised must do when it is typed.
  constexpr std::uint64_t kMiB = 1 << 20;
  const std::uint64_t advised = (needed + needed * 15 / 100 + kMiB - 1) / kMiB + 1;
  if (needed + needed * 15 / 100 <= host_bytes) return;
  throw Error(
      Reason::bad_option,
      fmt::format("--host-memory is {}; a photo of {} x {} px takes the program to about "
                  "{} MiB: allow {}MiB",
                  format_byte_size(host_bytes), width_px, height_px, advised, advised + 16));
}

}  // namespace skyfix
