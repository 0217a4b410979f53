#include "bench/match_benchmark.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include "bench/match_data.h"
#include "bench/match_methods.h"
#include "skyfix/base/parallel.h"

namespace skyfix::bench {
namespace {

std::int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field, 0) == 0) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return -1;
}

// Growth of the resident peak during one call.
std::int64_t measure_extra_bytes(const MatchMethod& method, DescriptorView query,
                                 DescriptorView map) {
  malloc_trim(0);
  {
    std::ofstream reset("/proc/self/clear_refs");
    if (!(reset << "5" << std::flush)) return -1;
  }
  const std::int64_t before = status_bytes("VmRSS");
  method.run(query, map);
  const std::int64_t peak = status_bytes("VmHWM");
  return before < 0 || peak < 0 ? -1 : std::max<std::int64_t>(0, peak - before);
}

double time_ms(const MatchMethod& method, DescriptorView query, DescriptorView map) {
  // Lets the peers' waiting threads, which spin for some milliseconds, go to sleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto start = std::chrono::steady_clock::now();
  method.run(query, map);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// Measures one row's method, or leaves a note why not.
template <class Measure>
void measure_or_note(MatchBenchmarkRow& row, Measure measure) {
  if (!row.note.empty()) return;
  try {
    measure();
  } catch (const std::bad_alloc&) {
    row.note = kNotEnoughMemory;
  }
}

// Fills rows, one a method, that have no note.
void measure_rows(const std::vector<MatchMethod>& methods, const MatchData& data, int repeat,
                  std::vector<MatchBenchmarkRow>& rows) {
  const DescriptorView query = data.query_view();
  const DescriptorView map = data.map_view();
  for (std::size_t i = 0; i < methods.size(); ++i) {
    measure_or_note(rows[i], [&] {
      rows[i].equal = share_equal(data, methods[i].run(query, map));
      rows[i].extra_bytes = measure_extra_bytes(methods[i], query, map);
    });
  }
  std::vector<std::vector<double>> times(methods.size());
  for (int r = 0; r < repeat; ++r) {
    for (std::size_t i = 0; i < methods.size(); ++i) {
      measure_or_note(rows[i], [&] { times[i].push_back(time_ms(methods[i], query, map)); });
    }
  }
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (rows[i].note.empty()) rows[i].ms = median(times[i]);
  }
}

}  // namespace

std::vector<MatchShape> default_match_sizes(std::string_view device) {
  if (device == "cpu") return {{49152, 861, 24}, {49152, 5000, 24}, {8192, 6000, 128}};
  return {{196608, 861, 24}, {196608, 5000, 24}, {196608, 50000, 24}};
}

std::vector<MatchBenchmarkRow> benchmark_methods(const std::vector<MatchMethod>& methods,
                                                 const MatchShape& shape, int repeat) {
  MatchBenchmarkRow blank;
  blank.device =
      "cpu x" + std::to_string(thread_count()) + " " + std::string(simd_name(best_simd()));
  blank.shape = shape;
  blank.dtype = element_type_name(RowType::float32);
  std::vector<MatchBenchmarkRow> rows(methods.size(), blank);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    rows[i].method = methods[i].name;
    rows[i].note = methods[i].why_not;
  }
  try {
    measure_rows(methods, MatchData(shape), repeat, rows);
  } catch (const std::bad_alloc&) {  // for the inputs
    for (MatchBenchmarkRow& row : rows) {
      if (row.note.empty()) row.note = kNotEnoughMemory;
    }
  }
  return rows;
}

std::vector<MatchBenchmarkRow> benchmark_match(const MatchShape& shape,
                                               const MatchBenchmarkOptions& options) {
  set_all_thread_counts(options.threads);
  return benchmark_methods(match_methods(shape), shape, options.repeat);
}

}  // namespace skyfix::bench
