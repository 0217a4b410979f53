// The memory benchmark on the stand-in device, in small.
#include "bench/memory_benchmark.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <regex>
#include <sstream>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"

namespace skyfix::bench {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

MemoryBenchmarkOptions small_options() {
  MemoryBenchmarkOptions options;
  options.gpu_bytes = 2 * kMiB;
  options.frames = 12;
  options.walk.query_rows = 900;
  options.walk.map_points = 60;
  options.cached_references = 4;
  return options;
}

MemoryRun run_on_host(const MemoryBenchmarkOptions& options) {
  const auto device = make_host_device(options.gpu_bytes);
  const auto kernels = make_host_match_kernels();
  return run_memory_walk(*device, *kernels, reference_cache_of(options, options.gpu_bytes), options,
                         [](const MemoryFrame&) {});
}

TEST(MemoryWalk, FramesAreTheSameWheneverTheyAreMade) {
  const MemoryBenchmarkOptions options = small_options();
  const WalkFrame a(options.walk, 7), b(options.walk, 7), other(options.walk, 8);
  const auto values = [](const WalkFrame& frame) {
    return std::vector<float>(frame.query().data,
                              frame.query().data + frame.query().rows * frame.query().dimension);
  };
  EXPECT_EQ(values(a), values(b));
  EXPECT_NE(values(a), values(other));
}

TEST(MemoryWalk, GoesOnToNewReferencesAndKeepsSome) {
  const WalkOptions walk = small_options().walk;
  ASSERT_EQ(shared_references(walk), 2);
  const WalkFrame now(walk, 3), next(walk, 4);
  const auto before = now.references(), after = next.references();
  ASSERT_EQ(before.size(), 5u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i].key, before[i + 3].key);
    ASSERT_EQ(after[i].rows.rows, before[i + 3].rows.rows);
    EXPECT_TRUE(std::equal(after[i].rows.data, after[i].rows.row(after[i].rows.rows),
                           before[i + 3].rows.data))
        << "equal keys mean equal rows";
  }
  for (int i = 2; i < 5; ++i) EXPECT_GT(after[i].key, before[4].key);
}

TEST(MemoryWalk, ReferencesVaryInSizeWithinThirtyPercent) {
  WalkOptions walk = small_options().walk;
  walk.map_points = 1000;
  walk.query_rows = 4;
  std::int64_t low = 1 << 30, high = 0;
  for (int i = 0; i < 30; ++i) {
    const WalkFrame frame(walk, i);
    for (const PoolReference& reference : frame.references()) {
      low = std::min(low, reference.rows.rows);
      high = std::max(high, reference.rows.rows);
    }
  }
  EXPECT_GE(low, 700);
  EXPECT_LT(low, 800);
  EXPECT_GT(high, 1200);
  EXPECT_LE(high, 1300);
}

TEST(MemoryBenchmark, NoFrameIsLostAndMemoryStaysFlat) {
  MemoryBenchmarkOptions options = small_options();
  options.frames = 60;
  const MemoryRun run = run_on_host(options);
  ASSERT_EQ(run.frames.size(), 60u);
  EXPECT_EQ(run.lost(), 0);
  EXPECT_EQ(run.retries(), 0);
  EXPECT_EQ(run.digest.size(), 64u);
  // References differ in size; one leaked a frame would be 30 of them.
  const std::uint64_t reference_bytes = options.walk.map_points * options.walk.dimension * 4;
  EXPECT_LE(run.growth_bytes(), 10 * reference_bytes);
  EXPECT_GT(run.cache.hits, 0u);
  EXPECT_GT(run.cache.evictions, 0u);
  for (const MemoryFrame& frame : run.frames) {
    EXPECT_GT(frame.pairs, 0);
    EXPECT_LE(frame.cache_references, 4u);
    EXPECT_LE(frame.reserved_bytes, small_options().gpu_bytes);
  }
}

TEST(MemoryBenchmark, InjectedFailuresChangeNothingButTheRetries) {
  MemoryBenchmarkOptions options = small_options();
  const std::string digest = run_on_host(options).digest;
  std::uint64_t total = 0;
  for (const char* plan :
       {"nth=1", "nth=2", "nth=5", "probability=0.01", "probability=0.3,seed=2", "above=4KiB"}) {
    options.faults = parse_fault_plan(plan, "--inject-allocation-failures");
    const MemoryRun run = run_on_host(options);
    EXPECT_EQ(run.digest, digest) << plan;
    EXPECT_EQ(run.lost(), 0) << plan;
    EXPECT_EQ(static_cast<std::uint64_t>(run.retries()), run.injected) << plan;
    EXPECT_GE(run.injected, options.faults.nth ? 1u : 0u) << plan;
    total += run.injected;
  }
  EXPECT_GT(total, 5u);
}

TEST(MemoryBenchmark, ASmallerBudgetGivesTheSamePairs) {
  MemoryBenchmarkOptions options = small_options();
  const std::string digest = run_on_host(options).digest;
  options.gpu_bytes = 40'000;
  const MemoryRun run = run_on_host(options);
  EXPECT_EQ(run.digest, digest);
  EXPECT_EQ(run.lost(), 0);
  EXPECT_GT(run.retries(), 0);
  EXPECT_LE(run.figures.device.peak_reserved_bytes, 40'000u);
}

TEST(MemoryBenchmark, AnotherSeedGivesAnotherDigest) {
  MemoryBenchmarkOptions options = small_options();
  options.frames = 1;
  const std::string digest = run_on_host(options).digest;
  options.walk.seed = 2;
  EXPECT_NE(run_on_host(options).digest, digest);
}

TEST(MemoryBenchmark, TheCacheIsTheProducts) {
  MemoryBenchmarkOptions options;
  EXPECT_EQ(reference_cache_of(options, 100).entries, 4u);
  EXPECT_EQ(reference_cache_of(options, 100).bytes, 50u);
  options.gpu_bytes += 1;
  EXPECT_EQ(reference_cache_of(options, 100).entries, 8u);
  options.cached_references = 0;
  EXPECT_EQ(reference_cache_of(options, 100).bytes, 0u);
}

TEST(MemoryRun, FiguresAreWhatTheySay) {
  MemoryRun run;
  for (const std::uint64_t reserved : {10, 30, 20, 30, 50, 40}) {
    MemoryFrame frame;
    frame.reserved_bytes = reserved;
    frame.retries = 2;
    run.frames.push_back(frame);
  }
  run.frames[1].pairs = -1;
  EXPECT_EQ(run.lost(), 1);
  EXPECT_EQ(run.retries(), 12);
  EXPECT_EQ(run.growth_bytes(), 20u);
  EXPECT_EQ(run.growth_allowed(), 4 * kMiB);
  run.figures.device.peak_allocated_bytes = 1000 * kMiB;
  run.figures.device.peak_reserved_bytes = 1100 * kMiB;
  EXPECT_EQ(run.slack_bytes(), 100 * kMiB);
  EXPECT_EQ(run.slack_allowed(), 64 * kMiB);
  EXPECT_EQ(run.growth_allowed(), 11 * kMiB);
  run.figures.device.peak_allocated_bytes = 2000 * kMiB;
  EXPECT_EQ(run.slack_bytes(), 0u);
  EXPECT_EQ(run.slack_allowed(), 100 * kMiB);
}

TEST(MemoryBenchmark, PrintsASummaryAndWritesALineAFrame) {
  MemoryBenchmarkOptions options = small_options();
  options.csv = std::filesystem::path(::testing::TempDir()) / "memory_benchmark_test.csv";
  std::ostringstream out;
  EXPECT_EQ(run_memory_benchmark(options, out, out), 0);
  EXPECT_THAT(out.str(), ::testing::HasSubstr("frames done 12, lost 0"));
  EXPECT_THAT(out.str(), ::testing::HasSubstr(": flat"));
  EXPECT_THAT(out.str(), ::testing::HasSubstr("digest "));
  const std::string csv = read_file(options.csv);
  EXPECT_THAT(csv, ::testing::StartsWith("frame,allocated,reserved,device_used,cache_bytes,"
                                         "cache_frames,retries,given_up,pairs,ms\n0,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 13);
  std::filesystem::remove(options.csv);
}

TEST(MemoryBenchmark, ThePartsOfThePeakAddUp) {
  std::ostringstream out;
  EXPECT_EQ(run_memory_benchmark(small_options(), out, out), 0);
  const std::string text = out.str();
  const std::size_t at = text.find("peak allocated ");
  ASSERT_NE(at, std::string::npos);
  const std::string line = text.substr(at, text.find('\n', at) - at);
  const std::regex figure("([0-9]+) B");
  std::vector<std::uint64_t> bytes;
  for (std::sregex_iterator i(line.begin(), line.end(), figure), end; i != end; ++i) {
    bytes.push_back(std::stoull((*i)[1]));
  }
  ASSERT_GT(bytes.size(), 3u) << line;
  EXPECT_GT(bytes[0], 0u);
  EXPECT_EQ(std::accumulate(bytes.begin() + 1, bytes.end(), std::uint64_t{0}), bytes[0]) << line;
  EXPECT_THAT(line, ::testing::HasSubstr("rounding"));
}

TEST(MemoryBenchmark, RefusesOptionsThatMakeNoSense) {
  std::ostringstream out;
  MemoryBenchmarkOptions options = small_options();
  options.peer = "naive";
  EXPECT_THROW(run_memory_benchmark(options, out, out), Error) << "needs a GPU";
  options.peer = "clever";
  EXPECT_THROW(run_memory_benchmark(options, out, out), Error);
  options.peer = "";
  options.device = "tpu";
  EXPECT_THROW(run_memory_benchmark(options, out, out), Error);
}

}  // namespace
}  // namespace skyfix::bench
