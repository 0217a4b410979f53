#include "bench/match_benchmark.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <new>
#include <sstream>

#include "bench/match_data.h"
#include "bench/match_methods.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"

namespace skyfix::bench {
namespace {

TEST(MatchShapes, ParsesSizesWithAndWithoutDimension) {
  const auto shapes = parse_match_shapes("49152x861, 8192x6000x128", 24);
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(shapes[0].n, 49152);
  EXPECT_EQ(shapes[0].m, 861);
  EXPECT_EQ(shapes[0].d, 24);
  EXPECT_EQ(shapes[1].d, 128);
}

TEST(MatchShapes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "x", "5", "5x", "0x5", "5x-1", "1x2x3x4", "5x5x0", "axb", "5x5,",
                           "99999999999x5", "16000000x5x65536", "1e3x5"}) {
    EXPECT_THROW(parse_match_shapes(text, 24), Error) << text;
  }
}

std::string complaint_about(const char* sizes, int dimension) {
  try {
    parse_match_shapes(sizes, dimension);
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_option);
    return error.what();
  }
  return "";
}

TEST(MatchShapes, TheComplaintIsAboutWhatIsWrong) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  for (const int dimension : {0, -1, 65537}) {
    EXPECT_THAT(complaint_about("10x10", dimension), HasSubstr("--dim is ")) << dimension;
  }
  EXPECT_THAT(complaint_about("10xten", 24), HasSubstr("is not a size"));
  for (const char* sizes : {"16777217x5", "5x99999999999", "5x5x65537", "16000000x5x65536"}) {
    EXPECT_THAT(complaint_about(sizes, 24),
                AllOf(HasSubstr("too large"), HasSubstr("16777216 rows"),
                      HasSubstr("65536 entries"), HasSubstr("4294967296 entries")))
        << sizes;
  }
  EXPECT_EQ(complaint_about("16777216x5x256", 24), "");
}

TEST(MatchBenchmark, EveryMethodFindsTheNeighbours) {
  MatchBenchmarkOptions options;
  options.repeat = 1;
  options.threads = 2;
  const auto rows = benchmark_match({301, 207, 24}, options);
  std::vector<std::string> names;
  for (const MatchBenchmarkRow& row : rows) {
    names.push_back(row.method);
    EXPECT_EQ(row.note, "") << row.method;
    EXPECT_EQ(row.equal, 1.0) << row.method;
    EXPECT_GT(row.ms, 0) << row.method;
  }
  EXPECT_THAT(names, ::testing::ElementsAre("skyfix", "torch_full", "torch_chunks", "faiss",
                                            "blas_blocks"));
}

TEST(MatchBenchmark, AMatrixThatDoesNotFitTheHostIsSkipped) {
  for (const MatchMethod& method : match_methods({196608, 50000, 24})) {
    EXPECT_EQ(method.why_not.empty(), method.name != "torch_full") << method.name;
  }
  for (const MatchMethod& method : match_methods({196608, 5000, 24})) {
    EXPECT_EQ(method.why_not, "") << method.name;
  }
}

TEST(MatchBenchmark, WhatCannotRunHasARowWithTheReason) {
  const auto rows =
      benchmark_methods({{"absent", {}, "not available: no such library"}}, {20, 10, 8}, 3);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].method, "absent");
  EXPECT_EQ(rows[0].note, "not available: no such library");
}

TEST(MatchBenchmark, WhatRunsOutOfMemoryHasARowAndTheOthersGoOn) {
  const MatchMethod ours = match_methods({20, 10, 8}).front();
  int calls = 0;
  const auto later = [&](DescriptorView query, DescriptorView map) {
    if (++calls == 4) throw std::bad_alloc();  // in the rounds, not in the first look
    return ours.run(query, map);
  };
  const auto at_once = [](DescriptorView, DescriptorView) -> NearestNeighbours {
    throw std::bad_alloc();
  };
  const auto rows =
      benchmark_methods({{"at_once", at_once, ""}, {"later", later, ""}, ours}, {20, 10, 8}, 3);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].note, "not enough memory");
  EXPECT_EQ(rows[1].note, "not enough memory");
  EXPECT_EQ(rows[2].note, "");
  EXPECT_EQ(rows[2].equal, 1.0);
  EXPECT_GT(rows[2].ms, 0);
  EXPECT_EQ(calls, 4);
}

TEST(MatchBenchmark, InputsThatDoNotFitGiveRowsThatSaySo) {
  const auto rows = benchmark_methods(match_methods({1, 1, 8}), {std::int64_t{1} << 48, 10, 8}, 1);
  ASSERT_EQ(rows.size(), 5u);
  for (const MatchBenchmarkRow& row : rows) EXPECT_EQ(row.note, "not enough memory") << row.method;
}

TEST(MatchBenchmark, WritesOneCsvLineAMethodAndShape) {
  MatchBenchmarkOptions options;
  options.sizes = {{50, 40, 24}, {30, 20, 7}};
  options.repeat = 2;
  options.csv = std::filesystem::path(::testing::TempDir()) / "match_benchmark_test.csv";
  std::ostringstream out;
  EXPECT_EQ(run_match_benchmark(options, out, out), 0);
  EXPECT_THAT(out.str(), ::testing::HasSubstr("FAISS"));
  const std::string csv = read_file(options.csv);
  EXPECT_THAT(csv, ::testing::StartsWith(
                       "method,device,n,m,d,dtype,ms,extra_bytes,equal,queued_ms,note\n"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 11);
  for (std::size_t at = 0; at != std::string::npos && at + 1 < csv.size();
       at = csv.find('\n', at + 1)) {
    const std::string line = csv.substr(at + 1, csv.find('\n', at + 1) - at - 1);
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 10) << line;
  }
  std::filesystem::remove(options.csv);
  options.repeat = 0;
  EXPECT_THROW(run_match_benchmark(options, out, out), Error);
}

TEST(MatchBenchmark, TheCsvMayGoToStandardOutputAlone) {
  MatchBenchmarkOptions options;
  options.sizes = {{30, 20, 7}};
  options.repeat = 1;
  options.csv = "-";
  std::ostringstream table, standard_output;
  EXPECT_EQ(run_match_benchmark(options, table, standard_output), 0);
  EXPECT_THAT(standard_output.str(), ::testing::StartsWith("method,device"));
  EXPECT_THAT(standard_output.str(), ::testing::Not(::testing::HasSubstr("FAISS")));
  EXPECT_THAT(table.str(), ::testing::HasSubstr("FAISS"));
  options.csv = "/nowhere/file.csv";
  std::ostringstream nothing;
  EXPECT_THROW(run_match_benchmark(options, nothing, nothing), Error);
  EXPECT_EQ(nothing.str(), "") << "refused before the work";
}

TEST(MatchBenchmark, RefusesOptionsThatMakeNoSense) {
  std::ostringstream out;
  MatchBenchmarkOptions options;
  options.sizes = {{5, 5, 8}};
  options.device = "tpu";
  EXPECT_THROW(run_match_benchmark(options, out, out), Error);
  options.device = "cpu";
  options.type = RowType::float16;
  EXPECT_THROW(run_match_benchmark(options, out, out), Error);
  EXPECT_THROW(parse_element_type("fp8"), Error);
}

}  // namespace
}  // namespace skyfix::bench
