#include "bench/localize_benchmark.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "skyfix/base/file.h"
#include "skyfix/base/log.h"
#include "skyfix/base/parallel.h"
#include "skyfix/base/version.h"
#include "skyfix/localize/runner.h"

namespace skyfix::bench {
namespace {

using Samples = std::map<std::string, std::vector<double>>;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::string table_of(const Samples& samples) {
  std::string text = fmt::format("{:<10} {:>10} {:>10} {:>10} {:>6}\n", "stage", "median ms",
                                 "min ms", "max ms", "n");
  for (const auto& [stage, values] : samples) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    text += fmt::format("{:<10} {:>10.1f} {:>10.1f} {:>10.1f} {:>6}\n", stage, median(values), *low,
                        *high, values.size());
  }
  return text;
}

std::string csv_of(const Samples& samples) {
  std::string text = "stage,median_ms,min_ms,max_ms,n\r\n";
  for (const auto& [stage, values] : samples) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    text += fmt::format("{},{:.3f},{:.3f},{:.3f},{}\r\n", stage, median(values), *low, *high,
                        values.size());
  }
  return text;
}

}  // namespace

int run_localize_benchmark(const LocalizeBenchmarkOptions& options, std::ostream& out,
                           std::ostream& standard_output) {
  const Map map = Map::open(options.map);
  const InputList input = list_input(options.input);
  GrowingOutput csv(options.csv, standard_output);
  const DescriptorCache no_cache({}, "", "");
  PoolMatcher matcher;
  const Localizer localizer(map, {}, {}, no_cache, {matcher});
  log::info("{}, {} threads, {} photos x {} rounds", version_text(), thread_count(),
            input.photos.size(), options.repeat);
  Samples samples;
  int fixed = 0;
  NoProgress quiet;
  const std::atomic<bool> cancel{false};
  for (int round = 0; round < options.repeat; ++round) {
    run_batch(
        localizer, input.photos, {},
        [&](const Fix& fix) {
          fixed += fix.status == FixStatus::ok ? 1 : 0;
          for (const auto& [stage, ms] : fix.telemetry.timing_ms) samples[stage].push_back(ms);
        },
        quiet, cancel);
  }
  out << table_of(samples);
  out << fmt::format("{} of {} ok\n", fixed,
                     options.repeat * static_cast<int>(input.photos.size()));
  csv.write(csv_of(samples));
  return 0;
}

}  // namespace skyfix::bench
