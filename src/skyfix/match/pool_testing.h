// For tests: pools of references, and a stand-in device to match them on.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <deque>
#include <memory>

#include "skyfix/match/pool_matcher.h"
#include "skyfix/match/testing.h"

namespace skyfix::testing {

// References that own their rows and groups.
struct TestPool {
  TestPool() = default;
  TestPool(TestPool&&) = default;  // a copy would still refer to the original's rows

  std::deque<Descriptors> rows;
  std::deque<std::vector<std::uint32_t>> groups;
  std::vector<PoolReference> references;

  void add(std::uint64_t key, Descriptors descriptors, std::vector<std::uint32_t> group) {
    rows.push_back(std::move(descriptors));
    groups.push_back(std::move(group));
    references.push_back({key, rows.back().view(), groups.back()});
  }
  // The rows of all references as one matrix, with their groups.
  Descriptors gathered(std::vector<std::uint32_t>& group) const {
    Descriptors all;
    for (const PoolReference& reference : references) {
      all.dimension = reference.rows.dimension;
      all.rows += reference.rows.rows;
      all.values.insert(all.values.end(), reference.rows.data,
                        reference.rows.data + reference.rows.rows * reference.rows.dimension);
      group.insert(group.end(), reference.group.begin(), reference.group.end());
    }
    return all;
  }
};

// `count` references of about `rows` rows each; keys from `first_key` on. Every third has integer
// rows, whose products tie, and some rows are not finite.
inline TestPool random_pool(int count, int rows, int dimension, std::mt19937& random,
                            std::uint64_t first_key = 0) {
  TestPool pool;
  for (int i = 0; i < count; ++i) {
    const int n = std::max(1, rows - i % 5);
    Descriptors descriptors =
        i % 3 == 0 ? integer_rows(n, dimension, 1, random) : normal_rows(n, dimension, random);
    if (n > 3) descriptors.row(n / 2)[i % dimension] = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::uint32_t> group(n);
    for (std::uint32_t& g : group) g = random() % (2 * rows);
    pool.add(first_key + i, std::move(descriptors), std::move(group));
  }
  return pool;
}

inline Descriptors random_query(int rows, int dimension, std::mt19937& random) {
  Descriptors query = normal_rows(rows, dimension, random);
  const Descriptors integers = integer_rows(rows, dimension, 1, random);
  for (int i = 0; i < rows; i += 3) {
    std::copy_n(integers.values.data() + i * dimension, dimension, query.row(i));
  }
  if (rows > 4) query.row(4)[0] = std::numeric_limits<float>::infinity();
  return query;
}

// A matcher on the stand-in device, with everything it needs.
class HostMatcher {
 public:
  explicit HostMatcher(const PoolMatcherOptions& options, const FaultPlan& faults = {},
                       std::uint64_t cap_bytes = 0)
      : device(make_host_device(cap_bytes)),
        ledger(*device, faults),
        kernels(make_host_match_kernels()),
        matcher(ledger, *kernels, options) {}

  std::unique_ptr<Device> device;
  Ledger ledger;
  std::unique_ptr<MatchKernels> kernels;
  PoolMatcher matcher;
};

// Equal to the bit: zeros have one sign in both.
inline void expect_equal(const PoolMatches& found, const PoolMatches& expected) {
  ASSERT_EQ(found.pairs.size(), expected.pairs.size());
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  for (std::size_t i = 0; i < found.pairs.size(); ++i) {
    ASSERT_EQ(found.pairs[i].query, expected.pairs[i].query) << i;
    ASSERT_EQ(found.pairs[i].map, expected.pairs[i].map) << i;
    ASSERT_EQ(bits(found.pairs[i].score), bits(expected.pairs[i].score)) << i;
    ASSERT_EQ(bits(found.runner_up[i]), bits(expected.runner_up[i])) << i;
  }
}

inline PoolMatches match_on_cpu(const Descriptors& query, const TestPool& pool) {
  return PoolMatcher().match(query.view(), pool.references);
}

}  // namespace skyfix::testing
