// Options in, summary and CSV out.
#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "bench/memory_benchmark.h"
#include "bench/naive_matcher.h"
#include "bench/torch_peers.h"
#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/parallel.h"
#include "skyfix/match/cuda_match_kernels.h"
#include "skyfix/memory/budget.h"

namespace skyfix::bench {
namespace {

constexpr const char* kCsvHead =
    "frame,allocated,reserved,device_used,cache_bytes,cache_frames,retries,given_up,pairs,ms\n";

std::string csv_line(const MemoryFrame& frame) {
  return fmt::format("{},{},{},{},{},{},{},\"{}\",{},{:.3f}\n", frame.frame, frame.allocated_bytes,
                     frame.reserved_bytes, frame.used_bytes, frame.cache_bytes,
                     frame.cache_references, frame.retries, frame.given_up, frame.pairs, frame.ms);
}

// The device with its cap set, and what to say about it.
struct OpenedDevice {
  std::unique_ptr<Device> device;
  std::unique_ptr<MatchKernels> kernels;
  std::uint64_t cap_bytes = 0;
  std::string heading;
};

OpenedDevice open_host(const MemoryBenchmarkOptions& options) {
  return {make_host_device(options.gpu_bytes), make_host_match_kernels(), options.gpu_bytes,
          fmt::format("host memory in a device's place, at most {}\n",
                      format_byte_size(options.gpu_bytes))};
}

OpenedDevice open_gpu(const MemoryBenchmarkOptions& options) {
  CudaDevice cuda = open_cuda_device();
  const CudaContextFacts& facts = cuda.facts;
  const Budget budget = resolve_budget({.gpu_bytes = options.gpu_bytes},
                                       CardFacts{facts.card.total_bytes, facts.card.free_bytes,
                                                 facts.context_bytes, facts.card.virtual_memory});
  OpenedDevice opened;
  opened.kernels = make_cuda_match_kernels(facts);
  opened.cap_bytes = budget.cap_bytes();
  opened.heading =
      fmt::format("{}, driver {}; budget {}: context {}{}, the allocator at most {}; {} segments\n",
                  facts.card.name, probe_cuda().value_or(CudaProbe{}).driver_version,
                  format_byte_size(budget.gpu_bytes), format_byte_size(budget.context_bytes),
                  budget.context_measured ? "" : " (assumed)", format_byte_size(opened.cap_bytes),
                  facts.expandable_segments ? "expandable" : "classic");
  for (const std::string& note : budget.notes) opened.heading += note + "\n";
  opened.device = std::move(cuda.device);
  opened.device->set_cap(opened.cap_bytes);
  return opened;
}

// The parts of the peak: what owners asked for, and what the allocator adds. They add up.
std::string peak_parts(const LedgerFigures& figures) {
  std::string text;
  for (const auto& [owner, each] : figures.by_owner) {
    text += fmt::format("{} {} B, ", owner, each.bytes_at_peak);
  }
  return text + fmt::format("the allocator's rounding {} B",
                            figures.device.peak_allocated_bytes - figures.peak_bytes);
}

std::string summary_of(const MemoryRun& run, std::uint64_t cap_bytes) {
  const DeviceFigures& device = run.figures.device;
  std::string text =
      fmt::format("frames done {}, lost {}\nretries {} ({} failures injected)\n",
                  run.frames.size() - run.lost(), run.lost(), run.retries(), run.injected);
  text += fmt::format("peak allocated {} B ({})\n", device.peak_allocated_bytes,
                      peak_parts(run.figures));
  text += fmt::format("peak reserved {} B of at most {} B; device used {} B\n",
                      device.peak_reserved_bytes, cap_bytes, run.peak_used_bytes);
  text += fmt::format("peak reserved less peak allocated {} B, allowed {} B: {}\n",
                      run.slack_bytes(), run.slack_allowed(),
                      run.slack_bytes() <= run.slack_allowed() ? "within" : "EXCEEDED");
  text += fmt::format("growth of reserved memory in the second half {} B, allowed {} B: {}\n",
                      run.growth_bytes(), run.growth_allowed(),
                      run.growth_bytes() <= run.growth_allowed() ? "flat" : "NOT FLAT");
  text += fmt::format("reference cache: {} hits, {} misses, {} evictions, peak {} B\n",
                      run.cache.hits, run.cache.misses, run.cache.evictions, run.cache.peak_bytes);
  return text + "digest " + run.digest + "\n";
}

// Frames that fail are caught one by one, as those scripts did.
std::string run_naive_peer(OpenedDevice& opened, const MemoryBenchmarkOptions& options) {
  set_up_torch(opened.device->kind(), static_cast<int>(thread_count()));
  opened.device->trim();
  opened.device->reset_peaks();
  NaiveMatcher naive(opened.device->kind());
  int lost = 0, first_lost = -1;
  std::string why;
  for (int i = 0; i < options.frames; ++i) {
    const WalkFrame walk(options.walk, i);
    try {
      naive.match(walk.query(), walk.references());
    } catch (const OutOfDeviceMemory& failure) {
      if (lost++ == 0) {
        first_lost = i;
        why = failure.what();
      }
    }
  }
  const DeviceFigures figures = opened.device->figures();
  return fmt::format(
      "peer naive: {} of {} frames lost{}\npeer naive: peak allocated {} B, reserved {} B\n", lost,
      options.frames, lost == 0 ? "" : fmt::format(", the first is frame {}: {}", first_lost, why),
      figures.peak_allocated_bytes, figures.peak_reserved_bytes);
}

void check_options(const MemoryBenchmarkOptions& options) {
  if (options.device != "cpu" && options.device != "cuda") {
    throw Error(Reason::bad_option, "--device is '" + options.device + "'; allowed is cpu or cuda");
  }
  if (!options.peer.empty() && options.peer != "naive") {
    throw Error(Reason::bad_option, "--peer is '" + options.peer + "'; allowed is naive");
  }
  if (!options.peer.empty() && options.device != "cuda") {
    throw Error(Reason::bad_option,
                "--peer naive needs --device cuda: on the CPU LibTorch's memory has no cap");
  }
}

}  // namespace

int run_memory_benchmark(const MemoryBenchmarkOptions& options, std::ostream& out,
                         std::ostream& standard_output) {
  check_options(options);
  set_thread_count(options.threads);
  OpenedDevice opened = options.device == "cuda" ? open_gpu(options) : open_host(options);
  GrowingOutput csv(options.csv, standard_output);
  const CacheLimits cache = reference_cache_of(options, opened.cap_bytes);
  out << opened.heading
      << fmt::format(
             "{} frames of {} x {} against {} references of about {} rows, at most {} of "
             "them cached\n",
             options.frames, options.walk.query_rows, options.walk.dimension,
             options.walk.references, options.walk.map_points, cache.entries)
      << std::flush;
  csv.write(kCsvHead);
  const MemoryRun run =
      run_memory_walk(*opened.device, *opened.kernels, cache, options,
                      [&](const MemoryFrame& frame) { csv.write(csv_line(frame)); });
  out << summary_of(run, opened.cap_bytes) << std::flush;
  if (!options.peer.empty()) out << run_naive_peer(opened, options);
  return run.lost() == 0 ? 0 : 1;
}

}  // namespace skyfix::bench
