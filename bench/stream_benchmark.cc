#include "bench/stream_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/match_data.h"
#include "bench/models_benchmark.h"
#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/version.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
constexpr int kDistinctPictures = 8;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }
double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

double share(std::vector<double> values, double of) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(of * static_cast<double>(values.size() - 1) + 0.5)];
}

void check(const StreamBenchmarkOptions& options) {
  options.stream.validate();
  for (const auto& [name, side] :
       {std::pair("--width", options.width), std::pair("--height", options.height)}) {
    if (side >= 14 && side % 14 == 0) continue;
    throw Error(Reason::bad_option,
                fmt::format("{} is {}; allowed is a multiple of 14", name, side));
  }
  if (options.weights != "synthetic" && options.weights != "synthetic:tiny") {
    throw Error(Reason::bad_option,
                "--weights is '" + options.weights + "'; allowed is synthetic or synthetic:tiny");
  }
}

std::string owners_text(const LedgerFigures& figures) {
  std::string text;
  for (const auto& [owner, each] : figures.by_owner) {
    text += fmt::format("  {:<20} {:>10.1f} MiB at the peak\n", owner, mib(each.bytes_at_peak));
  }
  return text;
}

void report_memory(const StreamBench& bench, std::ostream& out, Json& json) {
  if (!bench.device.ledger) return;
  const LedgerFigures figures = bench.device.ledger->figures();
  out << fmt::format("peak allocated {:.1f} MiB, reserved {:.1f} MiB, device used {:.1f} MiB\n{}",
                     mib(figures.device.peak_allocated_bytes),
                     mib(figures.device.peak_reserved_bytes), mib(figures.device.used_bytes),
                     owners_text(figures));
  json["peak_allocated_mib"] = mib(figures.device.peak_allocated_bytes);
  json["peak_reserved_mib"] = mib(figures.device.peak_reserved_bytes);
  json["device_used_mib"] = mib(figures.device.used_bytes);
  for (const auto& [owner, each] : figures.by_owner) {
    json["by_owner_mib"][owner] = mib(each.bytes_at_peak);
  }
}

void report_times(const StreamTimes& times, std::ostream& out, Json& json) {
  const double middle = median(times.frame_ms), late = share(times.frame_ms, 0.99);
  if (times.scale_phase_ms > 0) out << fmt::format("scale phase {:.1f} ms\n", times.scale_phase_ms);
  out << fmt::format(
      "{} frames: median {:.2f} ms ({:.1f} frames/s), 99th percentile {:.2f} ms, least {:.2f} ms; "
      "remembered {} whole, {} by special tokens\n",
      times.frame_ms.size(), middle, 1e3 / middle, late, share(times.frame_ms, 0),
      times.stream.whole_frames, times.stream.tail_frames);
  json["frame_ms"] = {{"median", middle}, {"p99", late}, {"least", share(times.frame_ms, 0)}};
  json["scale_phase_ms"] = times.scale_phase_ms;
  json["cache_mib"] = mib(times.stream.cache_bytes);
}

void write_json(const StreamBenchmarkOptions& options, const Json& json) {
  if (!options.json.empty()) write_file_atomic(options.json, json.dump(2) + "\n");
}

}  // namespace

void StreamBench::synchronize() const {
  if (device.device) device.device->synchronize();
}

StreamBench open_stream_bench(const StreamBenchmarkOptions& options) {
  check(options);
  StreamBench bench;
  bench.device = open_budgeted_device(options.device, {.gpu_bytes = options.gpu_bytes});
  GctOptions network;
  network.placement.device = bench.device.device ? DeviceKind::cuda : DeviceKind::cpu;
  network.placement.precision = precision_from_name(options.precision, "--precision");
  network.heads = precision_from_name(options.heads, "--head-precision");
  network.camera_iterations = options.camera_iterations;
  network.point_head = false;
  const GctConfig config = options.weights == "synthetic" ? gct_official() : gct_tiny();
  bench.network = std::make_shared<const Gct>(make_synthetic_source(), config, network);
  bench.heading = fmt::format(
      "{}; {} x {} px, {} trunk, {} heads, window {}, {} scale frames, keyframe interval {}; {}",
      bench.device.description, options.width, options.height, options.precision, options.heads,
      options.stream.window, options.stream.num_scale_frames, options.stream.keyframe_interval,
      version_text());
  if (bench.device.device) {
    bench.heading += fmt::format("\nbudget {}, the allocator at most {}",
                                 format_byte_size(bench.device.budget.gpu_bytes),
                                 format_byte_size(bench.device.budget.cap_bytes()));
  }
  return bench;
}

std::vector<BytePicture> stream_pictures(int width, int height, int count) {
  std::vector<BytePicture> pictures;
  for (int i = 0; i < count; ++i) pictures.push_back(made_photo(width, height, 100 + i));
  return pictures;
}

StreamTimes time_stream(StreamBench& bench, const StreamBenchmarkOptions& options) {
  const auto pictures = stream_pictures(options.width, options.height, kDistinctPictures);
  StreamSession session(bench.network, options.stream);
  StreamTimes times;
  const auto ignore = [](StreamPrediction&&) {};
  const auto push = [&](int i) { session.push(pictures[i % kDistinctPictures].view(), ignore); };
  bench.synchronize();
  const auto begin = Clock::now();
  if (options.prefill > 0) {
    session.prefill(options.prefill, options.width, options.height);
  } else {
    for (int i = 0; i < options.stream.num_scale_frames; ++i) push(i);
    bench.synchronize();
    times.scale_phase_ms = milliseconds_since(begin);
  }
  for (int i = 0; i < options.warm_up + options.frames; ++i) {
    const auto start = Clock::now();
    push(i);
    if (i >= options.warm_up) times.frame_ms.push_back(milliseconds_since(start));
  }
  session.finish(ignore);
  times.stream = session.figures();
  return times;
}

int run_stream_benchmark(const StreamBenchmarkOptions& options, std::ostream& out) {
  StreamBench bench = open_stream_bench(options);
  Json json;
  json["what"] = bench.heading;
  out << bench.heading << "\n" << std::flush;
  if (!options.goldens.empty()) {
    for (const StreamDeviation& each : compare_stream(bench, options)) {
      out << fmt::format("{:<24} largest deviation {:.2e}, relative {:.2e}\n", each.what,
                         each.absolute, each.relative);
      json["deviations"][each.what] = {{"absolute", each.absolute}, {"relative", each.relative}};
    }
  }
  if (bench.device.ledger) bench.device.ledger->reset_peaks();
  if (options.frames > 0) report_times(time_stream(bench, options), out, json);
  report_memory(bench, out, json);
  if (options.profile > 0) {
    double sum = 0;
    for (const StageTime& each : profile_stream(bench, options)) {
      out << fmt::format("  {:<20} {:>8.2f} ms\n", each.stage, each.ms);
      json["stages_ms"][each.stage] = each.ms;
      sum += each.ms;
    }
    out << fmt::format("  {:<20} {:>8.2f} ms (waiting for the device after each)\n", "all", sum);
  }
  write_json(options, json);
  return 0;
}

namespace {

constexpr const char* kCsvHead =
    "frames,status,height,width,dtype,seconds,peak_allocated_gib,peak_reserved_gib,device_used_gib,"
    "ms_per_frame,error\n";

struct SweepRow {
  std::int64_t frames = 0;
  std::string error;  // empty = ok
  double seconds = 0;
  DeviceFigures device;
};

SweepRow sweep_row(StreamBench& bench, const StreamBenchmarkOptions& options,
                   const std::vector<BytePicture>& pictures, std::int64_t frames) {
  SweepRow row;
  row.frames = frames;
  if (bench.device.device) bench.device.device->trim();
  if (bench.device.ledger) bench.device.ledger->reset_peaks();
  const auto begin = Clock::now();
  try {
    StreamSession session(bench.network, options.stream, frames);
    const auto ignore = [](StreamPrediction&&) {};
    for (std::int64_t i = 0; i < frames; ++i) {
      session.push(pictures[static_cast<std::size_t>(i) % pictures.size()].view(), ignore);
    }
    session.finish(ignore);
    bench.synchronize();
  } catch (const OutOfDeviceMemory& failure) {
    row.error = failure.what();
  }
  row.seconds = milliseconds_since(begin) / 1e3;
  if (bench.device.device) row.device = bench.device.device->figures();
  return row;
}

std::string csv_line(const StreamBenchmarkOptions& options, const SweepRow& row) {
  const std::string head =
      fmt::format("{},{},{},{},{}", row.frames, row.error.empty() ? "ok" : "oom", options.height,
                  options.width, options.precision);
  if (!row.error.empty()) return head + ",,,,,,\"" + row.error.substr(0, 500) + "\"\n";
  return fmt::format("{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},\n", head, row.seconds,
                     gib(row.device.peak_allocated_bytes), gib(row.device.peak_reserved_bytes),
                     gib(row.device.used_bytes),
                     1e3 * row.seconds / static_cast<double>(row.frames));
}

}  // namespace

int run_stream_sweep(const StreamBenchmarkOptions& options, std::ostream& out,
                     std::ostream& standard_output) {
  StreamBench bench = open_stream_bench(options);
  out << bench.heading << "\n" << std::flush;
  GrowingOutput csv(options.csv, standard_output);
  csv.write(kCsvHead);
  const auto pictures = stream_pictures(options.width, options.height, kDistinctPictures);
  sweep_row(bench, options, pictures, 16);  // warms up
  bool all = true;
  for (const std::int64_t frames : options.frame_counts) {
    const SweepRow row = sweep_row(bench, options, pictures, frames);
    csv.write(csv_line(options, row));
    out << fmt::format("{:>6} frames: {}\n", frames,
                       row.error.empty()
                           ? fmt::format("{:.1f} ms a frame, peak allocated {:.2f} GiB, reserved "
                                         "{:.2f} GiB",
                                         1e3 * row.seconds / static_cast<double>(frames),
                                         gib(row.device.peak_allocated_bytes),
                                         gib(row.device.peak_reserved_bytes))
                           : row.error)
        << std::flush;
    all = all && row.error.empty();
    if (!row.error.empty() && options.stop_on_oom) break;
  }
  return all ? 0 : 1;
}

}  // namespace skyfix::bench
