#include "bench/models_benchmark.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <random>

#include "bench/models_scene.h"
#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/version.h"
#include "skyfix/match/cuda_match_kernels.h"
#include "skyfix/memory/budget.h"
#include "skyfix/models/dinov3/dinov3_config.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::bench {
namespace {

using Json = nlohmann::ordered_json;

void open_gpu(const ModelsBenchmarkOptions& options, ModelsBench& bench) {
  CudaDevice cuda = open_cuda_device();
  const CudaContextFacts& facts = cuda.facts;
  BudgetRequest request;
  if (options.gpu_bytes > 0) request.gpu_bytes = options.gpu_bytes;
  const Budget budget =
      resolve_budget(request, CardFacts{facts.card.total_bytes, facts.card.free_bytes,
                                        facts.context_bytes, facts.card.virtual_memory});
  bench.heading = fmt::format(
      "{}, driver {}; budget {}, the allocator at most {}; {} segments", facts.card.name,
      probe_cuda().value_or(CudaProbe{}).driver_version, format_byte_size(budget.gpu_bytes),
      format_byte_size(budget.cap_bytes()), facts.expandable_segments ? "expandable" : "classic");
  bench.kernels = make_cuda_match_kernels(facts);
  bench.device = std::move(cuda.device);
  bench.device->set_cap(budget.cap_bytes());
  bench.ledger = std::make_unique<Ledger>(*bench.device);
}

}  // namespace

ModelsBench open_models_bench(const ModelsBenchmarkOptions& options) {
  if (options.device != "cpu" && options.device != "cuda") {
    throw Error(Reason::bad_option, "--device is '" + options.device + "'; allowed is cpu or cuda");
  }
  ModelsBench bench;
  bench.heading = "cpu";
  NetworkPlacement placement{DeviceKind::cpu,
                             precision_from_name(options.precision, "--precision")};
  if (options.device == "cuda") {
    open_gpu(options, bench);
    placement.device = DeviceKind::cuda;
  }
  Mast3rOptions of_mast3r;
  of_mast3r.placement = placement;
  of_mast3r.heads =
      options.heads.empty() ? placement.precision : precision_from_name(options.heads, "--heads");
  of_mast3r.points = options.repeat > 0 || !options.goldens.empty();
  bench.mast3r = std::make_shared<const Mast3r>(make_synthetic_source(), of_mast3r);
  DinoV3Options of_dinov3;
  of_dinov3.config = dinov3_config("dinov3-vitl16");
  bench.dinov3 = std::make_shared<const DinoV3>(make_synthetic_source(), placement, of_dinov3);
  bench.heading += fmt::format("; {}, {}", options.precision, version_text());
  return bench;
}

namespace {

double mib(std::uint64_t bytes) { return double(bytes) / (1 << 20); }

std::string owners_text(const LedgerFigures& figures) {
  std::string text;
  for (const auto& [owner, each] : figures.by_owner) {
    text += fmt::format("{} {:.1f} MiB, ", owner, mib(each.bytes_at_peak));
  }
  return text + fmt::format("unnamed {:.1f} MiB",
                            mib(figures.device.peak_allocated_bytes -
                                std::min(figures.device.peak_allocated_bytes, figures.peak_bytes)));
}

Json owners_json(const LedgerFigures& figures) {
  Json json{{"peak_allocated_bytes", figures.device.peak_allocated_bytes},
            {"peak_reserved_bytes", figures.device.peak_reserved_bytes},
            {"device_used_bytes", figures.device.used_bytes}};
  for (const auto& [owner, each] : figures.by_owner) json["by_owner"][owner] = each.bytes_at_peak;
  return json;
}

void report_weights(const ModelsBench& bench, std::ostream& out, Json& json) {
  if (!bench.ledger) return;
  const LedgerFigures figures = bench.ledger->figures();
  out << fmt::format("after loading: allocated {:.1f} MiB (", mib(figures.device.allocated_bytes));
  for (const auto& [owner, each] : figures.by_owner) {
    out << fmt::format("{} {:.1f} MiB ", owner, mib(each.bytes));
    json["loaded_bytes"][owner] = each.bytes;
  }
  out << ")\n" << std::flush;
}

void report_times(ModelsBench& bench, const ModelsBenchmarkOptions& options, std::ostream& out,
                  Json& json) {
  out << fmt::format("{:<48} {:>10} {:>10} {:>10}\n", "median of single calls", "eager ms",
                     "graphs ms", "least ms");
  for (const ModelTime& time : time_models(bench, options)) {
    out << fmt::format("{:<48} {:>10.2f} {:>10.2f} {:>10.2f}\n", time.what, time.eager_ms,
                       time.graphs_ms, time.graphs_least_ms);
    json["times"].push_back({{"what", time.what},
                             {"eager_ms", time.eager_ms},
                             {"graphs_ms", time.graphs_ms},
                             {"graphs_least_ms", time.graphs_least_ms}});
  }
  if (!bench.ledger) return;
  const LedgerFigures figures = bench.ledger->figures();
  out << fmt::format("peak allocated {:.1f} MiB ({}), reserved {:.1f} MiB\n",
                     mib(figures.device.peak_allocated_bytes), owners_text(figures),
                     mib(figures.device.peak_reserved_bytes));
  json["memory"] = owners_json(figures);
}

void report_deviations(const ModelsBench& bench, const ModelsBenchmarkOptions& options,
                       std::ostream& out, Json& json) {
  out << fmt::format("{:<48} {:>10} {:>12} {:>10}\n", "against the stored values", "largest",
                     "1 - cosine", "matches");
  for (const Deviation& each :
       compare_with_goldens(*bench.mast3r, *bench.dinov3, options.goldens)) {
    out << fmt::format("{:<48} {:>10.2e} {:>12.2e} {:>10.4f}\n", each.what, each.largest,
                       1 - each.least_cosine, each.equal_matches);
    json["deviations"].push_back({{"what", each.what},
                                  {"largest", each.largest},
                                  {"least_cosine", each.least_cosine},
                                  {"equal_matches", each.equal_matches}});
  }
}

int report_walk(ModelsBench& bench, const ModelsBenchmarkOptions& options, std::ostream& out,
                Json& json) {
  if (bench.ledger) bench.ledger->reset_peaks();
  const ModelsWalk walk = walk_models(bench, options);
  out << fmt::format(
      "{} frames, {} lost, {} retries ({}); {:.1f} ms a frame; {} pairs\n"
      "peak allocated {:.1f} MiB ({}), reserved {:.1f} MiB, device used {:.1f} MiB\n"
      "reserved at most in the first half {:.1f} MiB, in the second {:.1f} MiB\n"
      "feature cache: {} hits, {} misses, {} evictions, peak {:.1f} MiB\n",
      walk.frames, walk.lost, walk.retries, walk.given_up, walk.median_ms, walk.pairs,
      mib(walk.figures.device.peak_allocated_bytes), owners_text(walk.figures),
      mib(walk.figures.device.peak_reserved_bytes), mib(walk.figures.device.used_bytes),
      mib(walk.reserved_at_half), mib(walk.reserved_at_end), walk.cache.hits, walk.cache.misses,
      walk.cache.evictions, mib(walk.cache.peak_bytes));
  json["walk"] = {{"frames", walk.frames},
                  {"lost", walk.lost},
                  {"retries", walk.retries},
                  {"median_ms", walk.median_ms},
                  {"pairs", walk.pairs},
                  {"reserved_first_half_bytes", walk.reserved_at_half},
                  {"reserved_second_half_bytes", walk.reserved_at_end},
                  {"memory", owners_json(walk.figures)}};
  return walk.lost == 0 ? 0 : 1;
}

}  // namespace

void ModelsBench::synchronize() const {
  if (device) device->synchronize();
}

BytePicture made_photo(int width, int height, std::uint64_t seed) {
  constexpr int kColumns = 24, kRows = 18;
  std::mt19937_64 random(seed);
  BytePicture coarse{{}, kColumns, kRows, 3};
  for (int i = 0; i < kColumns * kRows * 3; ++i) {
    coarse.pixels.push_back(std::uint8_t(random()));
  }
  return resample(coarse.view(), width, height, ResampleFilter::bicubic);
}

std::vector<float> made_places(int width, int height, int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> x(0, float(width)), y(0, float(height));
  std::vector<float> xy;
  for (int i = 0; i < count; ++i) {
    xy.push_back(x(random));
    xy.push_back(y(random));
  }
  return xy;
}

int run_models_benchmark(const ModelsBenchmarkOptions& options, std::ostream& out) {
  ModelsBench bench = open_models_bench(options);
  Json json{{"about", bench.heading}};
  out << bench.heading << "\n" << std::flush;
  report_weights(bench, out, json);
  int status = 0;
  if (options.repeat > 0) report_times(bench, options, out, json);
  out << std::flush;
  if (!options.goldens.empty()) report_deviations(bench, options, out, json);
  out << std::flush;
  if (options.frames > 0) status = report_walk(bench, options, out, json);
  if (!options.json.empty()) write_file_atomic(options.json, json.dump(1) + "\n");
  return status;
}

}  // namespace skyfix::bench
