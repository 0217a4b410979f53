#include "skyfix/match/pool_matcher.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "skyfix/base/file.h"
#include "skyfix/match/pool_testing.h"

namespace skyfix {
namespace {

using testing::Descriptors;
using testing::expect_equal;
using testing::HostMatcher;
using testing::match_on_cpu;
using testing::random_pool;
using testing::random_query;
using testing::TestPool;

constexpr std::uint64_t kMuch = std::uint64_t{1} << 40;

PoolMatcherOptions options_of(std::int64_t chunk_rows, std::int64_t batch, CacheLimits cache) {
  PoolMatcherOptions options;
  options.chunk_rows = chunk_rows;
  options.batch = batch;
  options.reference_cache = cache;
  return options;
}

TEST(PoolMatcher, OnTheCpuIsTheGatheredPool) {
  std::mt19937 random(31);
  for (const int count : {1, 4}) {
    const TestPool pool = random_pool(count, 30, 24, random);
    const Descriptors query = random_query(70, 24, random);
    std::vector<std::uint32_t> group;
    const Descriptors all = pool.gathered(group);
    const auto pairs = mutual_pairs(nearest_neighbours(query.view(), all.view()));
    const auto runner_up = runner_up_scores(query.view(), all.view(), group, pairs);
    const PoolMatches found = match_on_cpu(query, pool);
    ASSERT_FALSE(pairs.empty());
    expect_equal(found, {pairs, runner_up, {}});
    EXPECT_TRUE(found.retries.events.empty());
  }
  EXPECT_EQ(PoolMatcher().device(), DeviceKind::cpu);
  EXPECT_EQ(PoolMatcher().cache_figures().misses, 0u);
}

TEST(PoolMatcher, ChunksBatchesAndCachesDoNotShow) {
  std::mt19937 random(32);
  const Descriptors query = random_query(41, 24, random);
  const TestPool pool = random_pool(7, 25, 24, random);
  const PoolMatches expected = match_on_cpu(query, pool);
  ASSERT_GT(expected.pairs.size(), 5u);
  const std::uint64_t one = 25 * (24 + 2) * sizeof(float) + 1024;
  for (std::int64_t chunk = 0; chunk <= 42; ++chunk) {
    for (const std::int64_t batch : {0, 1, 2, 3, 8}) {
      for (const CacheLimits cache : {CacheLimits{0}, CacheLimits{1}, CacheLimits{2 * one},
                                      CacheLimits{kMuch, 3}, CacheLimits{kMuch}}) {
        HostMatcher on(options_of(chunk, batch, cache));
        for (int again = 0; again < 2; ++again) {  // the second time from the cache
          const PoolMatches found = on.matcher.match(query.view(), pool.references);
          expect_equal(found, expected);
          EXPECT_TRUE(found.retries.events.empty());
        }
        EXPECT_LE(on.matcher.cache_figures().peak_bytes, cache.bytes);
      }
    }
  }
}

TEST(PoolMatcher, AnyShape) {
  std::mt19937 random(33);
  for (int i = 0; i < 60; ++i) {
    const int d = std::array{1, 2, 3, 24, 32, 64, 128, 257}[i % 8];
    const TestPool pool = random_pool(1 + random() % 6, 1 + random() % 60, d, random);
    const Descriptors query = random_query(1 + random() % 90, d, random);
    HostMatcher on(options_of(random() % 40, random() % 4, {random() % 40000, random() % 5}));
    expect_equal(on.matcher.match(query.view(), pool.references), match_on_cpu(query, pool));
  }
}

// All rows are among three distinct ones, zeros of both signs included: the lowest index must win
// wherever the copies stand.
TEST(PoolMatcher, TiesGoToTheLowestIndex) {
  std::mt19937 random(34);
  Descriptors few = testing::integer_rows(3, 8, 1, random);
  std::fill_n(few.row(1), 8, -0.0f);
  const auto copies = [&](int rows, int shift) {
    Descriptors result(rows, 8);
    for (int i = 0; i < rows; ++i) {
      std::copy_n(few.values.data() + (i * 7 + shift) % 3 * 8, 8, result.row(i));
    }
    return result;
  };
  TestPool pool;
  for (int r = 0; r < 4; ++r) {
    pool.add(r, copies(20 + r, r), std::vector<std::uint32_t>(20 + r, r));
  }
  const Descriptors query = copies(50, 1);
  const PoolMatches expected = match_on_cpu(query, pool);
  ASSERT_FALSE(expected.pairs.empty());
  EXPECT_LT(expected.pairs.back().query, 3);
  for (const std::int64_t chunk : {1, 7, 50}) {
    HostMatcher on(options_of(chunk, 1, {2048}));
    expect_equal(on.matcher.match(query.view(), pool.references), expected);
  }
}

// A product that underflows from below is -0; it is the same score as +0 everywhere.
TEST(PoolMatcher, ZerosHaveOneSign) {
  Descriptors query(1, 1);
  query.row(0)[0] = -1e-30f;
  TestPool pool;
  Descriptors map(2, 1);
  map.values = {1e-30f, -1.0f};
  pool.add(1, map, {1, 2});
  const PoolMatches cpu = match_on_cpu(query, pool);
  HostMatcher on(PoolMatcherOptions{});
  expect_equal(on.matcher.match(query.view(), pool.references), cpu);
  ASSERT_EQ(cpu.pairs.size(), 1u);
  EXPECT_EQ(cpu.pairs[0].map, 1);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(cpu.runner_up[0]), 0u);
}

TEST(PoolMatcher, NothingToMatch) {
  std::mt19937 random(35);
  TestPool pool = random_pool(2, 9, 24, random);
  const Descriptors query = random_query(5, 24, random);
  HostMatcher on(PoolMatcherOptions{});
  EXPECT_TRUE(on.matcher.match(Descriptors(0, 24).view(), pool.references).pairs.empty());
  EXPECT_TRUE(on.matcher.match(query.view(), {}).pairs.empty());
  TestPool empty;
  empty.add(4, Descriptors(0, 24), {});
  EXPECT_TRUE(on.matcher.match(query.view(), empty.references).pairs.empty());
  EXPECT_EQ(on.ledger.faults().seen(), 0u);
  pool.add(9, Descriptors(0, 24), {});
  pool.references.insert(pool.references.begin(), pool.references.back());
  expect_equal(on.matcher.match(query.view(), pool.references), match_on_cpu(query, pool));
}

TEST(PoolMatcher, AReferenceMayBeInThePoolTwice) {
  std::mt19937 random(36);
  TestPool pool = random_pool(3, 20, 24, random);
  pool.references.push_back(pool.references[1]);
  pool.references.insert(pool.references.begin(), pool.references[2]);
  const Descriptors query = random_query(50, 24, random);
  const PoolMatches expected = match_on_cpu(query, pool);
  for (const std::uint64_t cache : {std::uint64_t{0}, kMuch}) {
    HostMatcher on(options_of(13, 2, {cache}));
    expect_equal(on.matcher.match(query.view(), pool.references), expected);
    EXPECT_EQ(on.matcher.cache_figures().misses, 3u);
  }
}

TEST(PoolMatcher, CachedReferencesAreNotUploadedAgain) {
  std::mt19937 random(37);
  const TestPool pool = random_pool(6, 20, 24, random);
  const Descriptors query = random_query(50, 24, random);
  HostMatcher on(options_of(0, 0, {kMuch, 4}));
  on.matcher.match(query.view(), pool.references);
  EXPECT_EQ(on.matcher.cache_figures().hits, 0u);
  EXPECT_EQ(on.matcher.cache_figures().entries, 4u);
  on.matcher.match(query.view(), pool.references);
  EXPECT_EQ(on.matcher.cache_figures().hits, 4u);
  EXPECT_EQ(on.matcher.cache_figures().evictions, 0u) << "what is in use is not exchanged";
  EXPECT_GE(on.ledger.figures().by_owner.at(std::string(kReferenceOwner)).bytes,
            on.matcher.cache_figures().bytes);
}

TEST(PoolMatcher, WorkingBytesBoundTheLedgersPeak) {
  std::mt19937 random(38);
  for (const auto [n, m, count, d] :
       {std::array{500, 40, 7, 24}, std::array{33, 300, 2, 128}, std::array{1, 1, 1, 1}}) {
    const TestPool pool = random_pool(count, m, d, random);
    std::int64_t rows = 0;
    for (const PoolReference& reference : pool.references) rows += reference.rows.rows;
    const std::uint64_t promised = PoolMatcher::working_bytes(n, rows, d);
    HostMatcher on(PoolMatcherOptions{});
    on.matcher.match(random_query(n, d, random).view(), pool.references);
    const std::uint64_t peak = on.ledger.figures().peak_bytes;
    EXPECT_LE(peak, promised);
    EXPECT_GT(peak, promised * 8 / 9 - 1024);
    // Smaller frames before do not make a larger one need more.
    HostMatcher growing(PoolMatcherOptions{});
    for (int part = 1; part <= 4; ++part) {
      growing.matcher.match(random_query(std::max(1, n * part / 4), d, random).view(),
                            std::span(pool.references).first(std::max(1, count * part / 4)));
    }
    EXPECT_LE(growing.ledger.figures().peak_bytes, promised);
  }
}

TEST(PoolMatcher, NeedsLittleBeyondRowsAndResults) {
  std::mt19937 random(39);
  const TestPool pool = random_pool(5, 2000, 24, random);
  const std::int64_t n = 3000, m = 5 * 2000;
  HostMatcher on(PoolMatcherOptions{});
  on.matcher.match(random_query(n, 24, random).view(), pool.references);
  const std::int64_t rows_and_keys = (n + m) * (24 * 4 + 8);
  EXPECT_LE(on.ledger.figures().peak_bytes, rows_and_keys + 8 * (n + m) + 4096);
}

// With frames and references of one size nothing is allocated once the cache is full, although the
// references are ever new ones.
TEST(PoolMatcher, AllocatesNothingOnceWarm) {
  std::mt19937 random(40);
  const auto pool_at = [&](int frame) {
    TestPool pool;
    for (int r = 0; r < 6; ++r) {
      std::mt19937 of_reference(frame * 2 + r);
      pool.add(frame * 2 + r, testing::normal_rows(30, 24, of_reference),
               std::vector<std::uint32_t>(30, frame * 2 + r));
    }
    return pool;
  };
  for (const std::uint64_t entries : {0, 3, 4, 6, 9}) {
    HostMatcher on(options_of(0, 0, {kMuch, entries}));
    for (int frame = 0; frame < 12; ++frame) {
      on.ledger.forbid_allocations(frame >= 4);
      const TestPool pool = pool_at(frame);
      const Descriptors query = testing::normal_rows(50, 24, random);
      expect_equal(on.matcher.match(query.view(), pool.references), match_on_cpu(query, pool));
    }
  }
}

TEST(PoolMatcher, AForbiddenAllocationNamesItsOwner) {
  std::mt19937 random(41);
  const TestPool pool = random_pool(2, 20, 24, random);
  HostMatcher on(PoolMatcherOptions{});
  on.ledger.forbid_allocations(true);
  try {
    on.matcher.match(random_query(50, 24, random).view(), pool.references);
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr(std::string(kMatcherOwner)));
  }
}

TEST(PoolMatcher, GoldenCases) {
  const auto folder = std::filesystem::path(SKYFIX_SOURCE_DIR) / "tests/data/matching";
  const testing::Safetensors golden(folder / "cases.safetensors");
  const auto manifest = nlohmann::json::parse(read_file(folder / "manifest.json"));
  for (const auto& item : manifest.at("cases").items()) {
    SCOPED_TRACE(item.key());
    const Descriptors query = golden.read_rows(item.key() + ".query");
    const Descriptors map = golden.read_rows(item.key() + ".map");
    TestPool pool;  // the map cut into three references
    for (int part = 0; part < 3; ++part) {
      const std::int64_t begin = map.rows * part / 3;
      const std::int64_t end = map.rows * (part + 1) / 3;
      Descriptors rows(end - begin, map.dimension);
      std::copy_n(map.values.data() + begin * map.dimension, rows.values.size(),
                  rows.values.begin());
      pool.add(part, std::move(rows), std::vector<std::uint32_t>(end - begin, 0));
    }
    for (const std::int64_t chunk : {0, 5}) {
      HostMatcher on(options_of(chunk, 1, {4096}));
      std::vector<std::int64_t> pairs;
      for (const MutualPair& pair : on.matcher.match(query.view(), pool.references).pairs) {
        pairs.push_back(pair.query);
        pairs.push_back(pair.map);
      }
      EXPECT_EQ(pairs, golden.read<std::int64_t>(item.key() + ".pairs"));
    }
  }
}

}  // namespace
}  // namespace skyfix
