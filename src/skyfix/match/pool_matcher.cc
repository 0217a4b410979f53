#include "skyfix/match/pool_matcher.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>

#include "skyfix/match/match_attempt.h"

namespace skyfix {
namespace {

// -0 and +0 are one score. On the device they meet in keys as +0; so they do here.
void make_zeros_positive(PoolMatches& matches) {
  for (MutualPair& pair : matches.pairs) pair.score += 0.0f;
  for (float& score : matches.runner_up) score += 0.0f;
}

// The references' rows as one matrix; a copy only where there are several.
struct GatheredPool {
  explicit GatheredPool(std::span<const PoolReference> references) {
    if (references.size() == 1) {
      view = references[0].rows;
      group = references[0].group;
      return;
    }
    view.dimension = references[0].rows.dimension;
    for (const PoolReference& reference : references) view.rows += reference.rows.rows;
    values.reserve(view.rows * view.dimension);
    groups.reserve(view.rows);
    for (const PoolReference& reference : references) {
      const float* first = reference.rows.data;
      values.insert(values.end(), first, first + reference.rows.rows * view.dimension);
      groups.insert(groups.end(), reference.group.begin(), reference.group.end());
    }
    view.data = values.data();
    group = groups;
  }

  DescriptorView view;
  std::span<const std::uint32_t> group;

 private:
  std::vector<float> values;
  std::vector<std::uint32_t> groups;
};

PoolMatches match_on_cpu(DescriptorView query, std::span<const PoolReference> references) {
  const GatheredPool pool(references);
  PoolMatches matches;
  matches.pairs = mutual_pairs(nearest_neighbours(query, pool.view));
  matches.runner_up = runner_up_scores(query, pool.view, pool.group, matches.pairs);
  return matches;
}

// References without rows match nothing and have no place in the pool's numbering.
std::vector<PoolReference> usable(DescriptorView query, std::span<const PoolReference> references) {
  std::vector<PoolReference> result;
  std::int64_t rows = 0;
  for (const PoolReference& reference : references) {
    if (reference.rows.rows == 0) continue;
    assert(reference.rows.dimension == query.dimension);
    assert(static_cast<std::int64_t>(reference.group.size()) == reference.rows.rows);
    result.push_back(reference);
    rows += reference.rows.rows;
  }
  assert(std::max(rows, query.rows) <= std::numeric_limits<std::uint32_t>::max());
  return result;
}

}  // namespace

struct PoolMatcher::OnDevice {
  OnDevice(Ledger& ledger, MatchKernels& kernels, const PoolMatcherOptions& options)
      : ledger(ledger),
        kernels(kernels),
        options(options),
        store(ledger, kernels, options.reference_cache),
        ladder(ledger.device(), {&workspace, &store}, options.retry) {}

  Ledger& ledger;
  MatchKernels& kernels;
  PoolMatcherOptions options;
  match::ReferenceStore store;
  match::MatchWorkspace workspace;
  RetryLadder ladder;
};

PoolMatcher::PoolMatcher() = default;
PoolMatcher::PoolMatcher(Ledger& ledger, MatchKernels& kernels, const PoolMatcherOptions& options)
    : device_(std::make_unique<OnDevice>(ledger, kernels, options)) {}
PoolMatcher::~PoolMatcher() = default;

PoolMatches PoolMatcher::match(DescriptorView query, std::span<const PoolReference> references) {
  const std::vector<PoolReference> pool = usable(query, references);
  PoolMatches matches;
  if (query.rows == 0 || pool.empty()) return matches;
  if (device_ == nullptr) {
    matches = match_on_cpu(query, pool);
  } else {
    OnDevice& on = *device_;
    RetryReport report;
    matches = on.ladder.run(report, [&](const Effort& effort) {
      if (effort.on_cpu) return match_on_cpu(query, pool);
      const match::MatchResources resources{on.ledger,    on.kernels, on.store,
                                            on.workspace, on.options, report.events.empty()};
      return match::MatchAttempt(resources, query, pool, effort).run();
    });
    matches.retries = std::move(report);
  }
  make_zeros_positive(matches);
  return matches;
}

CacheFigures PoolMatcher::cache_figures() const {
  return device_ ? device_->store.figures() : CacheFigures();
}

DeviceKind PoolMatcher::device() const {
  return device_ ? device_->ledger.device().kind() : DeviceKind::cpu;
}

std::uint64_t PoolMatcher::working_bytes(std::int64_t query_rows, std::int64_t pool_rows,
                                         int dimension) {
  using match::GrowingBuffer;
  const std::size_t keys = sizeof(MatchKey) * (query_rows + pool_rows);
  return GrowingBuffer::capacity_bound(match::query_chunk_bytes(query_rows, dimension)) +
         GrowingBuffer::capacity_bound(keys) +
         GrowingBuffer::capacity_bound(match::ReferenceLayout(pool_rows, dimension).bytes);
}

}  // namespace skyfix
