#include "skyfix/match/match_attempt.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <unordered_map>

namespace skyfix::match {
namespace {

// The part of `all` that the option (0 = all) and the effort's scale leave; at least 1.
std::int64_t scaled(std::int64_t option, std::int64_t all, double scale) {
  const std::int64_t most = option > 0 ? std::min(option, all) : all;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(most) * scale));
}

std::size_t bias_offset(std::int64_t rows, int dimension) {
  return ReferenceLayout(rows, dimension).bias;
}

}  // namespace

std::size_t query_chunk_bytes(std::int64_t rows, int dimension) {
  return bias_offset(rows, dimension) + sizeof(float) * rows;
}

MatchAttempt::MatchAttempt(const MatchResources& resources, DescriptorView query,
                           std::span<const PoolReference> references, const Effort& effort)
    : resources_(resources),
      device_(resources.ledger.device()),
      query_(query),
      references_(references),
      effort_(effort),
      rows_per_chunk_(scaled(resources.options.chunk_rows, query.rows, effort.chunk_scale)) {}

PoolMatches MatchAttempt::run() {
  number_pool();
  if (!effort_.less_on_device) pin_cached();
  form_groups();
  take_workspace();
  PoolMatches matches;
  matches.pairs = find_pairs();
  matches.runner_up = find_runner_ups(matches.pairs);
  return matches;
}

void MatchAttempt::number_pool() {
  std::unordered_map<std::uint64_t, std::size_t> slot_of;
  offset_.push_back(0);
  for (const PoolReference& reference : references_) {
    const auto [at, is_new] = slot_of.emplace(reference.key, slots_.size());
    if (is_new) slots_.push_back({reference, {}, nullptr, {}});
    Slot& slot = slots_[at->second];
    assert(slot.reference.rows.rows == reference.rows.rows && "equal keys mean equal rows");
    slot.first_index.push_back(static_cast<std::uint32_t>(offset_.back()));
    offset_.push_back(offset_.back() + reference.rows.rows);
  }
}

// All that are there are pinned before any is added: none may have to go for another.
void MatchAttempt::pin_cached() {
  for (Slot& slot : slots_) slot.cached = resources_.store.find(slot.reference.key);
  for (Slot& slot : slots_) {
    if (!slot.cached && resources_.may_cache_more) {
      slot.cached = resources_.store.add(slot.reference);
    }
    if (slot.cached) slot.placed = slot.cached->placed();
  }
}

// The cached ones go with the first batch of the others: one launch where everything fits.
void MatchAttempt::form_groups() {
  Group cached;
  Group others;
  for (std::size_t i = 0; i < slots_.size(); ++i) (slots_[i].cached ? cached : others).push_back(i);
  groups_.push_back(std::move(cached));
  if (others.empty()) return;
  const std::size_t batch =
      effort_.less_on_device
          ? 1
          : scaled(resources_.options.batch, std::ssize(others), effort_.batch_scale);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i > 0 && i % batch == 0) groups_.emplace_back();
    groups_.back().push_back(others[i]);
  }
}

void MatchAttempt::take_workspace() {
  std::int64_t most_rows = 0;
  for (const Group& group : groups_) {
    std::int64_t rows = 0;
    for (const std::size_t i : group) rows += slots_[i].cached ? 0 : slots_[i].reference.rows.rows;
    most_rows = std::max(most_rows, rows);
  }
  MatchWorkspace& workspace = resources_.workspace;
  Ledger& ledger = resources_.ledger;
  const std::size_t keys = sizeof(MatchKey) * (query_.rows + offset_.back());
  keys_ = reinterpret_cast<MatchKey*>(workspace.keys.at_least(keys, ledger));
  query_memory_ =
      workspace.query.at_least(query_chunk_bytes(rows_per_chunk_, query_.dimension), ledger);
  reference_memory_ =
      workspace.references.at_least(ReferenceLayout(most_rows, query_.dimension).bytes, ledger);
}

void MatchAttempt::load_group(std::size_t group) {
  if (group == loaded_group_) return;
  std::int64_t rows = 0;
  for (const std::size_t i : groups_[group]) {
    rows += slots_[i].cached ? 0 : slots_[i].reference.rows.rows;
  }
  loaded_group_ = group;
  if (rows == 0) return;
  ReferenceBlock block(device_, resources_.kernels, reference_memory_, rows, query_.dimension);
  for (const std::size_t i : groups_[group]) {
    if (!slots_[i].cached) slots_[i].placed = block.add(slots_[i].reference);
  }
  block.check();
}

void MatchAttempt::load_chunk(const Chunk& chunk) {
  if (chunk == loaded_chunk_) return;
  loaded_chunk_ = chunk;
  const DeviceRows rows = chunk_rows();
  device_.upload(query_memory_, query_.row(chunk.begin),
                 sizeof(float) * rows.rows * rows.dimension);
  resources_.kernels.check_rows(rows, const_cast<float*>(rows.bias));
}

DeviceRows MatchAttempt::chunk_rows() const {
  const auto* bias = reinterpret_cast<const float*>(query_memory_ +
                                                    bias_offset(rows_per_chunk_, query_.dimension));
  return {query_memory_,
          bias,
          loaded_chunk_.end - loaded_chunk_.begin,
          query_.dimension,
          RowType::float32,
          static_cast<std::uint32_t>(loaded_chunk_.begin)};
}

template <class Wanted, class Visit>
void MatchAttempt::for_each_tile(Wanted wanted, Visit visit) {
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    load_group(group);
    for (std::int64_t begin = 0; begin < query_.rows; begin += rows_per_chunk_) {
      const Chunk chunk{begin, std::min(begin + rows_per_chunk_, query_.rows)};
      if (!wanted(chunk)) continue;
      load_chunk(chunk);
      visit(chunk, groups_[group]);
    }
  }
}

void MatchAttempt::accumulate(const Chunk& chunk, const Group& group) {
  std::vector<MatchWork> work;
  for (const std::size_t i : group) {
    for (const std::uint32_t first_index : slots_[i].first_index) {
      DeviceRows map = slots_[i].placed.rows;
      map.first_index = first_index;
      work.push_back({chunk_rows(), map, keys_ + chunk.begin, keys_ + query_.rows + first_index});
    }
  }
  resources_.kernels.accumulate(work);
}

// The keys are decoded here: 8 bytes a row come down instead of 12, and no memory for scores is
// needed on the device.
std::vector<MutualPair> MatchAttempt::find_pairs() {
  const std::int64_t count = query_.rows + offset_.back();
  resources_.kernels.clear_keys(keys_, count);
  for_each_tile([](const Chunk&) { return true; },
                [&](const Chunk& chunk, const Group& group) { accumulate(chunk, group); });
  std::vector<MatchKey> keys(count);
  device_.download(keys.data(), keys_, sizeof(MatchKey) * count);
  const MatchKey* map_keys = keys.data() + query_.rows;
  std::vector<MutualPair> pairs;
  for (std::int64_t i = 0; i < query_.rows; ++i) {
    const std::int64_t j = match_key_index(keys[i]);
    if (j < 0 || match_key_index(map_keys[j]) != i) continue;
    pairs.push_back({i, j, match_key_score(keys[i])});
  }
  return pairs;
}

std::uint32_t MatchAttempt::group_of(std::int64_t pool_row) const {
  const auto next = std::upper_bound(offset_.begin(), offset_.end(), pool_row);
  const std::int64_t reference = next - offset_.begin() - 1;
  return references_[reference].group[pool_row - offset_[reference]];
}

std::vector<float> MatchAttempt::find_runner_ups(std::span<const MutualPair> pairs) {
  const std::size_t count = pairs.size();
  std::vector<float> best(count, -std::numeric_limits<float>::infinity());
  if (count == 0) return best;
  std::vector<std::int64_t> listed(count);
  std::vector<std::uint32_t> row_group(count);
  for (std::size_t i = 0; i < count; ++i) {
    listed[i] = pairs[i].query % rows_per_chunk_;  // within its chunk
    row_group[i] = group_of(pairs[i].map);
  }
  // The keys have been read: there are no more pairs than rows on either side, so the list has
  // room in the query rows' keys, and groups and scores in the pool rows'.
  auto* device_listed = reinterpret_cast<std::int64_t*>(keys_);
  auto* device_group = reinterpret_cast<std::uint32_t*>(keys_ + query_.rows);
  auto* device_best = reinterpret_cast<float*>(device_group + count);
  device_.upload(device_listed, listed.data(), sizeof(std::int64_t) * count);
  device_.upload(device_group, row_group.data(), sizeof(std::uint32_t) * count);
  device_.upload(device_best, best.data(), sizeof(float) * count);

  const auto first_pair = [&](std::int64_t query_row) {
    return std::partition_point(pairs.begin(), pairs.end(),
                                [&](const MutualPair& pair) { return pair.query < query_row; }) -
           pairs.begin();
  };
  for_each_tile([&](const Chunk& chunk) { return first_pair(chunk.begin) < first_pair(chunk.end); },
                [&](const Chunk& chunk, const Group& group) {
                  const std::int64_t first = first_pair(chunk.begin);
                  const std::int64_t in_chunk = first_pair(chunk.end) - first;
                  for (const std::size_t i : group) {
                    resources_.kernels.runner_up(
                        chunk_rows(), device_listed + first, device_group + first, in_chunk,
                        slots_[i].placed.rows, slots_[i].placed.group, device_best + first);
                  }
                });
  device_.download(best.data(), device_best, sizeof(float) * count);
  return best;
}

}  // namespace skyfix::match
