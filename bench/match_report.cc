// Options in, table out.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <ostream>

#include "bench/match_benchmark.h"
#include "bench/match_data.h"
#include "bench/match_device.h"
#include "bench/match_methods.h"
#include "bench/torch_peers.h"
#include "skyfix/base/byte_size.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/parallel.h"
#include "skyfix/base/text.h"
#include "skyfix/match/cuda_match_kernels.h"
#include "skyfix/memory/cuda_library.h"

namespace skyfix::bench {
namespace {

constexpr std::int64_t kMostRows = 1 << 24;
constexpr std::int64_t kMostEntries = std::int64_t{1} << 32;
constexpr double kMostFaissProducts = 5e10;  // of single entries, beside a GPU

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Text as a CSV field: quoted, since it may hold commas.
std::string csv_text(const std::string& text) {
  if (text.empty()) return "";
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '\n' ? ' ' : c;
    if (c == '"') quoted += '"';
  }
  return quoted + '"';
}

std::string csv_line(const MatchBenchmarkRow& row) {
  const std::string head = fmt::format("{},{},{},{},{},{}", row.method, row.device, row.shape.n,
                                       row.shape.m, row.shape.d, row.dtype);
  if (!row.note.empty()) return head + ",,,,," + csv_text(row.note) + "\n";
  return head + fmt::format(",{:.4f},{},{:.6f},{},\n", row.ms, row.extra_bytes, row.equal,
                            row.queued_ms > 0 ? fmt::format("{:.4f}", row.queued_ms) : "");
}

std::string table_line(const MatchBenchmarkRow& row, double skyfix_ms) {
  const std::string head =
      fmt::format("{:<12} {:<14} {:>7} {:>7} {:>4} {:<8} ", row.method, row.device, row.shape.n,
                  row.shape.m, row.shape.d, row.dtype);
  if (!row.note.empty()) return head + row.note + "\n";
  const double operations = 2.0 * row.shape.n * row.shape.m * row.shape.d;
  return head + fmt::format("{:>9.3f} {:>12} {:>12} {:>8.4f} {:>8.1f} {:>6}\n", row.ms,
                            row.queued_ms > 0 ? fmt::format("{:.3f}", row.queued_ms) : "-",
                            row.extra_bytes, row.equal, operations / row.ms * 1e-6,
                            skyfix_ms > 0 ? fmt::format("{:.2f}", row.ms / skyfix_ms) : "-");
}

// Measures on the CPU or on a GPU, one shape at a time.
class Bench {
 public:
  explicit Bench(const MatchBenchmarkOptions& options) : options_(options) {
    if (options.device == "cuda") {
      cuda_ = open_cuda_device();
      kernels_ = make_cuda_match_kernels(cuda_->facts);
      set_up_torch(DeviceKind::cuda, 1);
    }
  }

  std::string heading() const {
    if (!cuda_) return "";
    const CudaProbe probe = probe_cuda().value_or(CudaProbe{});
    const CudaCard& card = cuda_->facts.card;
    return fmt::format(
        "{}, compute capability {}.{}, {}; driver {}, CUDA {}; LibTorch {}\n"
        "ms: median of single calls, each from an idle to an idle device; queued_ms: of {} calls "
        "queued behind one another, per call; extra_bytes: device memory beyond inputs and "
        "outputs\n",
        card.name, card.compute_major, card.compute_minor, format_byte_size(card.total_bytes),
        probe.driver_version.empty() ? "unknown" : probe.driver_version, probe.runtime_cuda,
        probe.torch_version, kQueuedCalls);
  }

  std::vector<MatchBenchmarkRow> measure(const MatchShape& shape) {
    if (!cuda_) return benchmark_match(shape, options_);
    std::vector<MatchBenchmarkRow> rows =
        benchmark_match_on(*cuda_->device, *kernels_, shape, options_);
    std::vector<MatchMethod> peers{faiss_method()};
    if (!options_.all && double(shape.n) * shape.m * shape.d > kMostFaissProducts) {
      peers[0].why_not = "skipped: takes long on a CPU; --all runs it";
    }
    for (MatchBenchmarkRow& row : benchmark_methods(peers, shape, options_.repeat)) {
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  const MatchBenchmarkOptions& options_;
  std::optional<CudaDevice> cuda_;
  std::unique_ptr<MatchKernels> kernels_;
};

void check_options(const MatchBenchmarkOptions& options) {
  if (options.repeat < 1) throw Error(Reason::bad_option, "--repeat must be at least 1");
  if (options.device != "cpu" && options.device != "cuda") {
    throw Error(Reason::bad_option, "--device is '" + options.device + "'; allowed is cpu or cuda");
  }
  if (options.device == "cpu" && options.type != RowType::float32) {
    throw Error(Reason::bad_option, "--dtype other than fp32 needs --device cuda");
  }
}

}  // namespace

MatchShape parse_match_shape(std::string_view text, int default_dimension) {
  if (default_dimension < 1 || default_dimension > kMostMatchEntries) {
    throw Error(Reason::bad_option, fmt::format("--dim is {}; allowed is 1 to {}",
                                                default_dimension, kMostMatchEntries));
  }
  const std::vector<std::string_view> parts = split(text, 'x');
  std::int64_t numbers[3] = {0, 0, default_dimension};
  bool good = parts.size() == 2 || parts.size() == 3;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const std::optional<long long> number = parse_integer(parts[i]);
    good = number && *number >= 1;
    if (good) numbers[i] = *number;
  }
  if (!good) {
    throw Error(Reason::bad_option,
                fmt::format("'{}' is not a size: write rows of the query x rows of the map "
                            "[x entries of a row], e.g. 8192x6000x128",
                            text));
  }
  const auto [n, m, d] = numbers;
  if (d < 1 || d > kMostMatchEntries || std::max(n, m) > kMostRows ||
      std::max(n, m) * d > kMostEntries) {
    throw Error(Reason::bad_option,
                fmt::format("'{}' is too large: a side may have {} rows, a row {} entries, and a "
                            "side {} entries in all",
                            text, kMostRows, kMostMatchEntries, kMostEntries));
  }
  return {n, m, static_cast<int>(d)};
}

std::vector<MatchShape> parse_match_shapes(std::string_view text, int default_dimension) {
  std::vector<MatchShape> shapes;
  for (const std::string_view part : split(text, ',')) {
    shapes.push_back(parse_match_shape(trim(part), default_dimension));
  }
  return shapes;
}

int run_match_benchmark(const MatchBenchmarkOptions& options, std::ostream& out,
                        std::ostream& standard_output) {
  check_options(options);
  // First: LibTorch asks once for its CUDA part, which is loaded with the GPU.
  Bench bench(options);
  GrowingOutput csv(options.csv, standard_output);
  set_all_thread_counts(options.threads);
  out << "skyfix " << simd_name(best_simd()) << "; " << peer_versions() << "\n" << bench.heading();
  if (peer_is_handicapped()) {
    out << "OpenBLAS does not recognise this processor: for a fair comparison set "
           "OPENBLAS_CORETYPE=SkylakeX (AVX-512) or Haswell (AVX2).\n";
  }
  out << fmt::format(
      "{:<12} {:<14} {:>7} {:>7} {:>4} {:<8} {:>9} {:>12} {:>12} {:>8} {:>8} {:>6}\n", "method",
      "device", "n", "m", "d", "dtype", "ms", "queued_ms", "extra_bytes", "equal", "GFLOP/s",
      "times");
  csv.write("method,device,n,m,d,dtype,ms,extra_bytes,equal,queued_ms,note\n");
  const std::vector<MatchShape> sizes =
      options.sizes.empty() ? default_match_sizes(options.device) : options.sizes;
  for (const MatchShape& shape : sizes) {
    const std::vector<MatchBenchmarkRow> rows = bench.measure(shape);
    for (const MatchBenchmarkRow& row : rows) {
      out << table_line(row, rows.front().ms) << std::flush;
      csv.write(csv_line(row));
    }
  }
  return 0;
}

}  // namespace skyfix::bench
