// The benchmarks on a GPU, in small. Skipped, aloud, without one.
#include <gmock/gmock.h>

#include <sstream>

#include "bench/match_device.h"
#include "bench/memory_benchmark.h"
#include "bench/naive_matcher.h"
#include "bench/torch_peers.h"
#include "skyfix/match/cuda_match_kernels.h"

namespace skyfix::bench {
namespace {

// Before any test: LibTorch asks once for its CUDA part, which this loads.
const std::string kProblem = why_no_gpu();

class BenchOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kProblem.empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << kProblem;
    gpu_ = open_cuda_device();
    kernels_ = make_cuda_match_kernels(gpu_.facts);
    set_up_torch(DeviceKind::cuda, 2);
  }
  void TearDown() override {
    if (!gpu_.device) return;
    gpu_.device->set_cap(0);
    gpu_.device->trim();
  }

  CudaDevice gpu_;
  std::unique_ptr<MatchKernels> kernels_;
};

TEST_F(BenchOnGpu, EveryMethodFindsTheNeighboursAndOursNeedsNoMatrix) {
  const MatchShape shape{20000, 3000, 24};
  MatchBenchmarkOptions options;
  options.repeat = 2;
  for (const RowType type : {RowType::float32, RowType::float16, RowType::bfloat16}) {
    options.type = type;
    const auto rows = benchmark_match_on(*gpu_.device, *kernels_, shape, options);
    ASSERT_EQ(rows.size(), type == RowType::float32 ? 3u : 1u);
    for (const MatchBenchmarkRow& row : rows) {
      EXPECT_EQ(row.note, "") << row.method;
      EXPECT_EQ(row.equal, 1.0) << row.method;
      EXPECT_GT(row.queued_ms, 0) << row.method;
    }
    EXPECT_LE(rows[0].extra_bytes, 16 * (shape.n + shape.m) + (1 << 20));
    if (rows.size() > 1) {
      EXPECT_GE(rows[1].extra_bytes, full_matrix_bytes(shape.n, shape.m));
    }
  }
}

TEST_F(BenchOnGpu, AMatrixBeyondTheCapHasARowThatSaysSo) {
  gpu_.device->set_cap(std::uint64_t{256} << 20);
  MatchBenchmarkOptions options;
  options.repeat = 1;
  const auto rows = benchmark_match_on(*gpu_.device, *kernels_, {40000, 5000, 24}, options);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].equal, 1.0);
  EXPECT_THAT(rows[1].note, ::testing::HasSubstr("out of device memory"));
}

TEST_F(BenchOnGpu, TheWalkGivesTheHostsDigestWhateverFails) {
  if (best_simd() == Simd::scalar) GTEST_SKIP() << "SKIPPED: the CPU has no fused kernels";
  MemoryBenchmarkOptions options;
  options.frames = 6;
  options.walk.query_rows = 20000;
  const CacheLimits cache{std::uint64_t{64} << 20, 4};
  const auto ignore = [](const MemoryFrame&) {};
  const auto host = make_host_device();
  const auto host_kernels = make_host_match_kernels();
  const std::string digest = run_memory_walk(*host, *host_kernels, cache, options, ignore).digest;
  for (const char* plan : {"", "nth=2", "probability=0.2"}) {
    options.faults = parse_fault_plan(plan, "--inject-allocation-failures");
    const MemoryRun run = run_memory_walk(*gpu_.device, *kernels_, cache, options, ignore);
    EXPECT_EQ(run.digest, digest) << plan;
    EXPECT_EQ(run.lost(), 0) << plan;
  }
}

TEST_F(BenchOnGpu, TheNaiveWayDiesAndStaysDead) {
  gpu_.device->set_cap(std::uint64_t{1} << 30);
  WalkOptions walk;
  walk.query_rows = 100'000;
  NaiveMatcher naive(DeviceKind::cuda);
  int done = 0, lost_at_last = 0;
  for (int i = 0; i < 40; ++i) {
    const WalkFrame frame(walk, i);
    try {
      naive.match(frame.query(), frame.references());
      ++done;
    } catch (const OutOfDeviceMemory&) {
      lost_at_last += i >= 30;
    }
  }
  EXPECT_GT(done, 0);
  EXPECT_EQ(lost_at_last, 10) << "once references have filled the memory, no frame succeeds";
}

}  // namespace
}  // namespace skyfix::bench
