#include "bench/match_benchmark.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "bench/match_methods.h"
#include "skyfix/base/parallel.h"

namespace skyfix::bench {
namespace {

std::vector<float> unit_rows(std::int64_t rows, int d, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(rows * d);
  for (float& value : values) value = normal(random);
  return values;
}

void normalise(std::vector<float>& values, int d) {
  for (std::size_t first = 0; first < values.size(); first += d) {
    float sum = 0;
    for (int k = 0; k < d; ++k) sum += values[first + k] * values[first + k];
    for (int k = 0; k < d; ++k) values[first + k] /= std::sqrt(sum);
  }
}

// Every other query row is a noisy copy of some map row, the rest match nothing: as in a photo.
void make_descriptors(const MatchShape& shape, std::vector<float>& query, std::vector<float>& map) {
  std::mt19937 random(20240607);
  map = unit_rows(shape.m, shape.d, random);
  query = unit_rows(shape.n, shape.d, random);
  std::uniform_int_distribution<std::int64_t> pick(0, shape.m - 1);
  for (std::int64_t i = 0; i < shape.n; i += 2) {
    const float* original = map.data() + pick(random) * shape.d;
    for (int k = 0; k < shape.d; ++k) {
      float& value = query[i * shape.d + k];
      value = original[k] + 0.3f * value;
    }
  }
  normalise(query, shape.d);
  normalise(map, shape.d);
}

double product(const float* a, const float* b, int d) {
  double sum = 0;
  for (int k = 0; k < d; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

// Evenly spaced rows of one side, so many that the check stays cheap: the share that is right.
double share_equal(DescriptorView from, DescriptorView to, const std::vector<std::int64_t>& nn) {
  constexpr std::int64_t kProducts = 200'000'000;
  const std::int64_t cost = to.rows * from.dimension;
  const std::int64_t checked = std::clamp<std::int64_t>(kProducts / cost, 1, from.rows);
  std::vector<unsigned char> right(checked, 0);
  parallel_for(checked, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const std::int64_t i = static_cast<std::int64_t>(c) * from.rows / checked;
      double best = -INFINITY;
      std::int64_t winner = -1;
      for (std::int64_t j = 0; j < to.rows; ++j) {
        const double score = product(from.row(i), to.row(j), from.dimension);
        if (score > best) {
          best = score;
          winner = j;
        }
      }
      // Unit rows: 2 (d + 2) rounding steps of 2^-24 bound the error of a float32 difference.
      const double tolerance = 2 * (from.dimension + 2) * std::ldexp(1.0, -24);
      right[c] = nn[i] == winner || (nn[i] >= 0 && product(from.row(i), to.row(nn[i]),
                                                           from.dimension) >= best - tolerance);
    }
  });
  return static_cast<double>(std::count(right.begin(), right.end(), 1)) / checked;
}

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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

std::vector<MatchBenchmarkRow> benchmark_match(const MatchShape& shape,
                                               const MatchBenchmarkOptions& options) {
  set_all_thread_counts(options.threads);
  std::vector<float> query_values, map_values;
  make_descriptors(shape, query_values, map_values);
  const DescriptorView query{query_values.data(), shape.n, shape.d};
  const DescriptorView map{map_values.data(), shape.m, shape.d};
  const std::string device =
      "cpu x" + std::to_string(thread_count()) + " " + std::string(simd_name(best_simd()));

  std::vector<MatchBenchmarkRow> rows;
  const std::vector<MatchMethod> methods = match_methods();
  for (const MatchMethod& method : methods) {
    const NearestNeighbours warm = method.run(query, map);
    const double equal_query = share_equal(query, map, warm.nn_query);
    const double equal_map = share_equal(map, query, warm.nn_map);
    rows.push_back({std::string(method.name), device, shape, "float32", 0,
                    measure_extra_bytes(method, query, map), std::min(equal_query, equal_map)});
  }
  std::vector<std::vector<double>> times(methods.size());
  for (int repeat = 0; repeat < options.repeat; ++repeat) {
    for (std::size_t i = 0; i < methods.size(); ++i) {
      times[i].push_back(time_ms(methods[i], query, map));
    }
  }
  for (std::size_t i = 0; i < methods.size(); ++i) rows[i].ms = median(times[i]);
  return rows;
}

}  // namespace skyfix::bench
