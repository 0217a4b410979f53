#include "bench/match_device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <new>
#include <optional>
#include <string>

#include "bench/match_data.h"
#include "bench/torch_peers.h"
#include "skyfix/match/half.h"
#include "skyfix/memory/ledger.h"

namespace skyfix::bench {
namespace {

constexpr int kWarmUps = 5;
constexpr std::string_view kInputs = "inputs";
constexpr std::string_view kOutputs = "outputs";
constexpr std::string_view kExtra = "extra";

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::vector<std::uint16_t> narrowed(const std::vector<float>& values, RowType type) {
  std::vector<std::uint16_t> bits(values.size());
  std::transform(values.begin(), values.end(), bits.begin(),
                 type == RowType::float16 ? float16_from_float : bfloat16_from_float);
  return bits;
}

class DeviceMatch {
 public:
  DeviceMatch(Device& device, MatchKernels& kernels, const MatchData& data, RowType type)
      : device_(device),
        kernels_(kernels),
        data_(data),
        type_(type),
        ledger_(device),
        query_(uploaded(data.query)),
        map_(uploaded(data.map)),
        nn_query_(ledger_.allocate(data.shape.n * sizeof(std::int64_t), kOutputs)),
        nn_map_(ledger_.allocate(data.shape.m * sizeof(std::int64_t), kOutputs)),
        score_query_(ledger_.allocate(data.shape.n * sizeof(float), kOutputs)),
        score_map_(ledger_.allocate(data.shape.m * sizeof(float), kOutputs)) {}

  void run_skyfix() {
    const std::int64_t n = data_.shape.n, m = data_.shape.m;
    const DeviceBuffer bias = ledger_.allocate((n + m) * sizeof(float), kExtra);
    const DeviceRows query{query_.data(), nullptr, n, data_.shape.d, type_, 0};
    const DeviceRows map{map_.data(), nullptr, m, data_.shape.d, type_, 0};
    // The keys become the indices in place.
    kernels_.match({query, map, nn_query_.as<MatchKey>(), nn_map_.as<MatchKey>()}, bias.as<float>(),
                   bias.as<float>() + n, score_query_.as<float>(), score_map_.as<float>());
  }

  MatchArrays arrays() const {
    return {query_.as<float>(),
            map_.as<float>(),
            data_.shape.n,
            data_.shape.m,
            data_.shape.d,
            nn_query_.as<std::int64_t>(),
            score_query_.as<float>(),
            nn_map_.as<std::int64_t>(),
            score_map_.as<float>()};
  }

  // So that nobody is credited with what the method before has found.
  void spoil_outputs() {
    const std::vector<std::int64_t> nothing(std::max(data_.shape.n, data_.shape.m), -1);
    device_.upload(nn_query_.data(), nothing.data(), nn_query_.bytes());
    device_.upload(nn_map_.data(), nothing.data(), nn_map_.bytes());
  }

  NearestNeighbours found() {
    NearestNeighbours result;
    result.nn_query.resize(data_.shape.n);
    result.nn_map.resize(data_.shape.m);
    device_.download(result.nn_query.data(), nn_query_.data(), nn_query_.bytes());
    device_.download(result.nn_map.data(), nn_map_.data(), nn_map_.bytes());
    return result;
  }

 private:
  DeviceBuffer uploaded(const std::vector<float>& values) {
    DeviceBuffer buffer = ledger_.allocate(values.size() * row_type_bytes(type_), kInputs);
    if (type_ == RowType::float32) {
      device_.upload(buffer.data(), values.data(), buffer.bytes());
    } else {
      device_.upload(buffer.data(), narrowed(values, type_).data(), buffer.bytes());
    }
    return buffer;
  }

  Device& device_;
  MatchKernels& kernels_;
  const MatchData& data_;
  RowType type_;
  Ledger ledger_;
  DeviceBuffer query_, map_;
  DeviceBuffer nn_query_, nn_map_, score_query_, score_map_;
};

std::int64_t measure_extra_bytes(Device& device, const std::function<void()>& run) {
  device.reset_peaks();
  const std::uint64_t before = device.figures().allocated_bytes;
  run();
  device.synchronize();
  return static_cast<std::int64_t>(device.figures().peak_allocated_bytes - before);
}

double measure_ms(Device& device, const std::function<void()>& run, int calls) {
  device.synchronize();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) run();
  device.synchronize();
  return milliseconds_since(start) / calls;
}

void measure(DeviceMatch& match, Device& device, const MatchData& data,
             const std::function<void()>& run, int repeat, MatchBenchmarkRow& row) {
  match.spoil_outputs();
  for (int i = 0; i < kWarmUps; ++i) run();
  device.synchronize();
  row.extra_bytes = measure_extra_bytes(device, run);
  row.equal = share_equal(data, match.found());
  measure_ms(device, run, kWarmUps);  // the check has let the device cool down
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) times.push_back(measure_ms(device, run, 1));
  row.ms = median(times);
  row.queued_ms = measure_ms(device, run, kQueuedCalls);
}

// Which memory ran out: the device's, by its own words, or the host's.
std::string note_of(const std::bad_alloc& failure) {
  const auto* device = dynamic_cast<const OutOfDeviceMemory*>(&failure);
  return device != nullptr ? device->what() : kNotEnoughMemory;
}

}  // namespace

std::vector<MatchBenchmarkRow> benchmark_match_on(Device& device, MatchKernels& kernels,
                                                  const MatchShape& shape,
                                                  const MatchBenchmarkOptions& options) {
  std::optional<MatchData> data;
  std::optional<DeviceMatch> match;
  std::string lacking;
  try {
    data.emplace(shape).round_to(options.type);
    match.emplace(device, kernels, *data, options.type);
  } catch (const std::bad_alloc& failure) {
    lacking = note_of(failure);
  }
  std::vector<MatchBenchmarkRow> rows;
  const auto add = [&](const std::string& method, const std::function<void()>& run) {
    MatchBenchmarkRow row;
    row.method = method;
    row.device = device.name();
    row.shape = shape;
    row.dtype = element_type_name(options.type);
    row.note = lacking;
    try {
      if (match) measure(*match, device, *data, run, options.repeat, row);
    } catch (const std::bad_alloc& failure) {
      row.note = note_of(failure);
    }
    device.trim();
    rows.push_back(row);
  };
  add("skyfix", [&] { match->run_skyfix(); });
  if (options.type != RowType::float32) return rows;  // a product of 16 bits would not be exact
  const DeviceKind kind = device.kind();
  add("torch_full", [&] { match_by_full_matrix(match->arrays(), kind); });
  add("torch_chunks", [&] { match_by_chunks(match->arrays(), kind, kTorchChunkRows); });
  return rows;
}

}  // namespace skyfix::bench
