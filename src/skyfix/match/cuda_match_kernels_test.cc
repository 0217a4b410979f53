// The GPU's kernels beside the CPU's: equal keys, to the bit. Skipped, aloud, without a GPU.
#include "skyfix/match/cuda_match_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "skyfix/base/error.h"
#include "skyfix/match/half.h"
#include "skyfix/memory/ledger.h"

namespace skyfix {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(CudaMatchKernels, WithoutTheLibraryTheErrorSaysWhy) {
  if (CudaLibrary::instance().loaded()) GTEST_SKIP() << "the library is loaded";
  EXPECT_THROW(make_cuda_match_kernels({}), Error);
}

// One device with its kernels; rows are handed over from host memory.
class Side {
 public:
  Side(Device& device, MatchKernels& kernels)
      : device_(device), ledger_(device), kernels_(kernels) {}

  DeviceRows rows(const void* data, std::int64_t count, int dimension, RowType type,
                  std::uint32_t first_index = 0) {
    DeviceRows rows{nullptr, nullptr, count, dimension, type, first_index};
    rows.data = copy(data, count * dimension * row_type_bytes(type));
    auto* bias = static_cast<float*>(space(count * sizeof(float)));
    kernels_.check_rows(rows, bias);
    rows.bias = bias;
    return rows;
  }
  MatchKey* keys(std::int64_t count) {
    auto* keys = static_cast<MatchKey*>(space(count * sizeof(MatchKey)));
    kernels_.clear_keys(keys, count);
    return keys;
  }
  template <class T>
  T* put(const std::vector<T>& values) {
    return static_cast<T*>(copy(values.data(), values.size() * sizeof(T)));
  }
  template <class T>
  std::vector<T> get(const T* values, std::int64_t count) {
    std::vector<T> host(count);
    device_.download(host.data(), values, count * sizeof(T));
    return host;
  }
  MatchKernels& kernels() { return kernels_; }

 private:
  void* space(std::size_t bytes) {
    held_.push_back(ledger_.allocate(std::max<std::size_t>(bytes, 1), "test"));
    return held_.back().data();
  }
  void* copy(const void* data, std::size_t bytes) {
    void* there = space(bytes);
    if (bytes > 0) device_.upload(there, data, bytes);
    return there;
  }

  Device& device_;
  Ledger ledger_;
  MatchKernels& kernels_;
  std::vector<DeviceBuffer> held_;
};

struct Results {
  std::vector<MatchKey> query_indices, map_indices;
  std::vector<float> query_scores, map_scores, runner_up;
};

// How random rows are made; each kind is a different trap.
enum class Kind { normal, integers, few_values, zeros, with_bad_rows, tiny };

std::vector<float> make_rows(std::int64_t count, int dimension, Kind kind, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count * dimension);
  for (float& value : values) {
    value = normal(random);
    if (kind == Kind::integers) value = std::round(3 * value);
    if (kind == Kind::few_values) value = value > 0 ? 1.0f : -1.0f;
    if (kind == Kind::zeros) value = 0;
    if (kind == Kind::tiny) value *= 1e-22f;
  }
  if (kind == Kind::with_bad_rows) {
    for (std::int64_t row = 0; row < count; row += 7) {
      values[row * dimension + row % dimension] =
          row % 2 ? std::numeric_limits<float>::quiet_NaN() : -kInfinity;
    }
  }
  return values;
}

class GpuBesideCpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_no_gpu().empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << why_no_gpu();
    if (best_simd() == Simd::scalar) GTEST_SKIP() << "SKIPPED: the CPU has no fused kernels";
    opened_ = open_cuda_device();
    gpu_kernels_ = make_cuda_match_kernels(opened_.facts);
    host_device_ = make_host_device();
    host_kernels_ = make_host_match_kernels();
  }

  Results run(bool on_gpu, const std::vector<std::byte>& query, std::int64_t n,
              const std::vector<std::byte>& map, std::int64_t m, int dimension, RowType type) {
    Side side = on_gpu ? Side(*opened_.device, *gpu_kernels_) : Side(*host_device_, *host_kernels_);
    // In two parts each way: keys must meet.
    const std::size_t row_bytes = dimension * row_type_bytes(type);
    const std::int64_t n1 = n / 3, m1 = m / 2;
    const std::int64_t query_from[] = {0, n1, n}, map_from[] = {0, m1, m};
    MatchKey* query_keys = side.keys(n);
    MatchKey* map_keys = side.keys(m);
    std::vector<MatchWork> work;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        const DeviceRows q =
            side.rows(query.data() + query_from[i] * row_bytes, query_from[i + 1] - query_from[i],
                      dimension, type, static_cast<std::uint32_t>(query_from[i]));
        const DeviceRows r =
            side.rows(map.data() + map_from[j] * row_bytes, map_from[j + 1] - map_from[j],
                      dimension, type, static_cast<std::uint32_t>(map_from[j]));
        work.push_back({q, r, query_keys + query_from[i], map_keys + map_from[j]});
      }
    }
    side.kernels().accumulate(work);
    float* query_scores = side.put(std::vector<float>(n));
    float* map_scores = side.put(std::vector<float>(m));
    side.kernels().decode(query_keys, query_scores, n);
    side.kernels().decode(map_keys, map_scores, m);
    return {side.get(query_keys, n), side.get(map_keys, m), side.get(query_scores, n),
            side.get(map_scores, m), runner_up(side, query, n, map, m, dimension, type)};
  }

  std::vector<float> runner_up(Side& side, const std::vector<std::byte>& query, std::int64_t n,
                               const std::vector<std::byte>& map, std::int64_t m, int dimension,
                               RowType type) {
    std::vector<std::int64_t> listed;
    std::vector<std::uint32_t> row_group, map_group(m);
    for (std::int64_t i = 0; i < n; i += 2) {
      listed.push_back(n - 1 - i);
      row_group.push_back(static_cast<std::uint32_t>(i % 5));
    }
    for (std::int64_t j = 0; j < m; ++j) map_group[j] = static_cast<std::uint32_t>(j / 3 % 5);
    float* best = side.put(std::vector<float>(listed.size(), -kInfinity));
    const auto count = static_cast<std::int64_t>(listed.size());
    side.kernels().runner_up(side.rows(query.data(), n, dimension, type), side.put(listed),
                             side.put(row_group), count, side.rows(map.data(), m, dimension, type),
                             side.put(map_group), best);
    return side.get(best, count);
  }

  static std::vector<std::byte> encode(const std::vector<float>& values, RowType type) {
    std::vector<std::byte> bytes(values.size() * row_type_bytes(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (type == RowType::float32) {
        std::memcpy(&bytes[i * 4], &values[i], 4);
      } else {
        const std::uint16_t half = type == RowType::float16 ? float16_from_float(values[i])
                                                            : bfloat16_from_float(values[i]);
        std::memcpy(&bytes[i * 2], &half, 2);
      }
    }
    return bytes;
  }

  void expect_equal(std::int64_t n, std::int64_t m, int dimension, Kind kind, RowType type) {
    std::mt19937 random(static_cast<unsigned>(n * 31 + m * 7 + dimension));
    const auto query = encode(make_rows(n, dimension, kind, random), type);
    const auto map = encode(make_rows(m, dimension, kind, random), type);
    const Results gpu = run(true, query, n, map, m, dimension, type);
    const Results cpu = run(false, query, n, map, m, dimension, type);
    SCOPED_TRACE(testing::Message()
                 << n << "x" << m << "x" << dimension << " kind " << static_cast<int>(kind)
                 << " type " << static_cast<int>(type));
    EXPECT_EQ(gpu.query_indices, cpu.query_indices);
    EXPECT_EQ(gpu.map_indices, cpu.map_indices);
    EXPECT_EQ(gpu.query_scores, cpu.query_scores);
    EXPECT_EQ(gpu.map_scores, cpu.map_scores);
    EXPECT_EQ(gpu.runner_up, cpu.runner_up);
  }

  CudaDevice opened_;
  std::unique_ptr<MatchKernels> gpu_kernels_;
  std::unique_ptr<Device> host_device_;
  std::unique_ptr<MatchKernels> host_kernels_;
};

TEST_F(GpuBesideCpu, EqualInEveryDimensionAndType) {
  for (const int dimension : {1, 3, 16, 24, 27, 32, 64, 128, 256, 257}) {
    for (const RowType type : {RowType::float32, RowType::float16, RowType::bfloat16}) {
      expect_equal(700, 1033, dimension, Kind::normal, type);
    }
  }
}

TEST_F(GpuBesideCpu, EqualForEveryKindOfTrap) {
  for (const Kind kind :
       {Kind::integers, Kind::few_values, Kind::zeros, Kind::with_bad_rows, Kind::tiny}) {
    for (const int dimension : {24, 128}) {
      expect_equal(1500, 2100, dimension, kind, RowType::float32);
      expect_equal(129, 127, dimension, kind, RowType::float16);
    }
  }
}

TEST_F(GpuBesideCpu, EqualAtTheEdgesOfTiles) {
  for (const std::int64_t n : {1, 2, 127, 128, 129, 255, 257}) {
    for (const std::int64_t m : {1, 63, 128, 385}) {
      expect_equal(n, m, 24, Kind::few_values, RowType::float32);
      expect_equal(n, m, 40, Kind::normal, RowType::float32);
    }
  }
}

TEST_F(GpuBesideCpu, EqualOnManyRows) {
  expect_equal(60'000, 20'011, 24, Kind::integers, RowType::float32);
  expect_equal(9'000, 50'021, 128, Kind::normal, RowType::float32);
}

TEST_F(GpuBesideCpu, ALaunchMayHoldManyPairs) {
  // More work items than one launch takes, each a pair of its own.
  std::mt19937 random(5);
  Side gpu(*opened_.device, *gpu_kernels_), cpu(*host_device_, *host_kernels_);
  std::vector<MatchWork> gpu_work, cpu_work;
  for (int pair = 0; pair < 75; ++pair) {
    const auto query = make_rows(100 + pair, 24, Kind::normal, random);
    const auto map = make_rows(300 - pair, 24, Kind::normal, random);
    for (auto [side, work] : {std::pair{&gpu, &gpu_work}, std::pair{&cpu, &cpu_work}}) {
      work->push_back({side->rows(query.data(), 100 + pair, 24, RowType::float32),
                       side->rows(map.data(), 300 - pair, 24, RowType::float32),
                       side->keys(100 + pair), pair % 4 == 3 ? nullptr : side->keys(300 - pair)});
    }
  }
  gpu.kernels().accumulate(gpu_work);
  cpu.kernels().accumulate(cpu_work);
  for (int pair = 0; pair < 75; ++pair) {
    EXPECT_EQ(gpu.get(gpu_work[pair].query_keys, 100 + pair),
              cpu.get(cpu_work[pair].query_keys, 100 + pair));
    if (cpu_work[pair].map_keys == nullptr) continue;
    EXPECT_EQ(gpu.get(gpu_work[pair].map_keys, 300 - pair),
              cpu.get(cpu_work[pair].map_keys, 300 - pair));
  }
}

TEST_F(GpuBesideCpu, APairFromStartToEndEqualsThePieces) {
  std::mt19937 random(9);
  const std::int64_t n = 3001, m = 1777;
  const auto query = make_rows(n, 24, Kind::with_bad_rows, random);
  const auto map = make_rows(m, 24, Kind::with_bad_rows, random);
  std::vector<std::vector<MatchKey>> indices;
  std::vector<std::vector<float>> scores;
  for (const bool on_gpu : {true, false}) {
    Side side = on_gpu ? Side(*opened_.device, *gpu_kernels_) : Side(*host_device_, *host_kernels_);
    MatchWork work{side.rows(query.data(), n, 24, RowType::float32),
                   side.rows(map.data(), m, 24, RowType::float32),
                   side.put(std::vector<MatchKey>(n, 99)), side.put(std::vector<MatchKey>(m, 99))};
    float* bias = side.put(std::vector<float>(n + m));
    float* all_scores = side.put(std::vector<float>(n + m));
    side.kernels().match(work, bias, bias + n, all_scores, all_scores + n);
    indices.push_back(side.get(work.query_keys, n));
    indices.push_back(side.get(work.map_keys, m));
    scores.push_back(side.get(all_scores, n + m));
  }
  EXPECT_EQ(indices[0], indices[2]);
  EXPECT_EQ(indices[1], indices[3]);
  EXPECT_EQ(scores[0], scores[1]);
}

// 2^24 + 1 rows of 256 entries: more than 2^32 entries, and an index that a float cannot hold.
TEST_F(GpuBesideCpu, OffsetsHave64Bits) {
  constexpr std::int64_t kRows = (std::int64_t{1} << 24) + 1;
  constexpr int kDimension = 256;
  if (opened_.facts.card.free_bytes < (12ull << 30)) GTEST_SKIP() << "SKIPPED: needs 12 GiB free";
  // Entries are +1 or -1: a row agrees with itself alone by 256.
  std::vector<std::uint16_t> query(kRows * kDimension);
  std::uint64_t state = 88172645463325252ull;
  for (std::size_t i = 0; i < query.size(); i += 64) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    for (int bit = 0; bit < 64; ++bit) query[i + bit] = (state >> bit) & 1 ? 0x3c00 : 0xbc00;
  }
  const std::vector<std::int64_t> planted = {kRows - 1, 0, kRows / 2, 16'777'215, 5};
  std::vector<std::uint16_t> map;
  for (const std::int64_t row : planted) {
    map.insert(map.end(), query.begin() + row * kDimension, query.begin() + (row + 1) * kDimension);
  }
  Side side(*opened_.device, *gpu_kernels_);
  const auto count = static_cast<std::int64_t>(planted.size());
  const MatchWork work{side.rows(query.data(), kRows, kDimension, RowType::float16),
                       side.rows(map.data(), count, kDimension, RowType::float16), side.keys(kRows),
                       side.keys(count)};
  side.kernels().accumulate({&work, 1});
  const auto map_keys = side.get(work.map_keys, count);
  const auto query_keys = side.get(work.query_keys, kRows);
  for (std::int64_t j = 0; j < count; ++j) {
    EXPECT_EQ(match_key_index(map_keys[j]), planted[j]);
    EXPECT_EQ(match_key_score(map_keys[j]), 256.0f);
    EXPECT_EQ(match_key_index(query_keys[planted[j]]), j);
  }
}

}  // namespace
}  // namespace skyfix
