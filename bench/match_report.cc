// Options in, table out.
#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "bench/match_benchmark.h"
#include "bench/match_methods.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"
#include "skyfix/match/mutual_nearest.h"

namespace skyfix::bench {
namespace {

constexpr std::int64_t kMostRows = 1 << 24;
constexpr std::int64_t kMostEntries = std::int64_t{1} << 32;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string csv_line(const MatchBenchmarkRow& row) {
  return fmt::format("{},{},{},{},{},{},{:.4f},{},{:.6f}\n", row.method, row.device, row.shape.n,
                     row.shape.m, row.shape.d, row.dtype, row.ms, row.extra_bytes, row.equal);
}

std::string table_line(const MatchBenchmarkRow& row, double skyfix_ms) {
  const double operations = 2.0 * row.shape.n * row.shape.m * row.shape.d;
  return fmt::format(
      "{:<12} {:<14} {:>7} {:>7} {:>4} {:<8} {:>9.2f} {:>12} {:>8.4f} {:>8.1f} {:>6.2f}\n",
      row.method, row.device, row.shape.n, row.shape.m, row.shape.d, row.dtype, row.ms,
      row.extra_bytes, row.equal, operations / row.ms * 1e-6, row.ms / skyfix_ms);
}

}  // namespace

MatchShape parse_match_shape(std::string_view text, int default_dimension) {
  const std::vector<std::string_view> parts = split(text, 'x');
  std::int64_t numbers[3] = {0, 0, default_dimension};
  bool good = parts.size() == 2 || parts.size() == 3;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const std::optional<long long> number = parse_integer(parts[i]);
    good = number && *number >= 1 && *number <= kMostRows;
    if (good) numbers[i] = *number;
  }
  const auto [n, m, d] = numbers;
  if (!good || d < 1 || d > 65536 || std::max(n, m) * d > kMostEntries) {
    throw Error(Reason::bad_option,
                fmt::format("'{}' is not a size: write rows of the query x rows of the map "
                            "[x entries of a row], e.g. 8192x6000x128",
                            text));
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

int run_match_benchmark(const MatchBenchmarkOptions& options, std::ostream& out) {
  if (options.repeat < 1) throw Error(Reason::bad_option, "--repeat must be at least 1");
  set_all_thread_counts(options.threads);
  out << "skyfix " << simd_name(best_simd()) << "; " << peer_versions() << "\n";
  if (peer_is_handicapped()) {
    out << "OpenBLAS does not recognise this processor: for a fair comparison set "
           "OPENBLAS_CORETYPE=SkylakeX (AVX-512) or Haswell (AVX2).\n";
  }
  out << fmt::format("{:<12} {:<14} {:>7} {:>7} {:>4} {:<8} {:>9} {:>12} {:>8} {:>8} {:>6}\n",
                     "method", "device", "n", "m", "d", "dtype", "ms", "extra_bytes", "equal",
                     "GFLOP/s", "times");
  std::string csv = "method,device,n,m,d,dtype,ms,extra_bytes,equal\n";
  for (const MatchShape& shape : options.sizes) {
    const std::vector<MatchBenchmarkRow> rows = benchmark_match(shape, options);
    for (const MatchBenchmarkRow& row : rows) {
      out << table_line(row, rows.front().ms) << std::flush;
      csv += csv_line(row);
    }
  }
  if (!options.csv.empty()) write_file_atomic(options.csv, csv);
  return 0;
}

}  // namespace skyfix::bench
