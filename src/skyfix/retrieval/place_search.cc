#include <faiss/utils/distances.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <tuple>

#include "skyfix/base/parallel.h"
#include "skyfix/retrieval/global_descriptor.h"

namespace skyfix {
namespace {

constexpr std::size_t kBlockRows = 4096;  // rows searched at once by a thread
// FAISS sums in 32 bits. Rows whose score is this close to the last one kept are looked at again in
// 64 bits, so that the order is that of the exact scores.
constexpr float kScoreTolerance = 1e-5f;

bool all_zero(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
}

double exact_score(std::span<const float> row, std::span<const float> query) {
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += double(row[i]) * query[i];
  return sum;
}

bool better(const Proposal& a, const Proposal& b) {
  return std::tuple(-a.score, a.image_index) < std::tuple(-b.score, b.image_index);
}

void keep_best(std::vector<Proposal>& proposals, std::size_t count) {
  std::sort(proposals.begin(), proposals.end(), better);
  proposals.resize(std::min(proposals.size(), count));
}

// Some rows of the map's array: what one thread searches.
class Block {
 public:
  Block(std::span<const float> rows, std::size_t first_row, std::span<const float> query)
      : rows_(rows), first_row_(first_row), query_(query), count_(rows.size() / query.size()) {}

  // The best `wanted` proposals, exactly. FAISS resolves ties as it likes and knows nothing of rows
  // that are zero: it is asked for more until what it left out cannot matter.
  std::vector<Proposal> best(std::size_t wanted) const {
    for (std::size_t asked = std::min(count_, wanted + 8);; asked = std::min(count_, 4 * asked)) {
      bool complete = asked == count_;
      std::vector<Proposal> proposals = search(asked, wanted, complete);
      if (!complete) continue;
      keep_best(proposals, wanted);
      return proposals;
    }
  }

 private:
  // Sets `complete` when the rows that are not among the result are worse than the best `wanted`.
  std::vector<Proposal> search(std::size_t asked, std::size_t wanted, bool& complete) const {
    std::vector<float> scores(asked);
    std::vector<std::int64_t> found(asked);
    faiss::knn_inner_product(query_.data(), rows_.data(), query_.size(), 1, count_, asked,
                             scores.data(), found.data());
    std::vector<Proposal> proposals;
    float last_wanted = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < asked; ++i) {
      if (found[i] < 0 || !std::isfinite(scores[i])) continue;
      const auto row = rows_.subspan(std::size_t(found[i]) * query_.size(), query_.size());
      if (all_zero(row)) continue;
      proposals.push_back(
          {std::uint32_t(first_row_ + std::size_t(found[i])), exact_score(row, query_)});
      if (proposals.size() == wanted) last_wanted = scores[i];
    }
    complete = complete || scores.back() < last_wanted - kScoreTolerance;
    return proposals;
  }

  std::span<const float> rows_;
  std::size_t first_row_;
  std::span<const float> query_;
  std::size_t count_;
};

}  // namespace

ProposalList search_places(const MapPlaces& places, std::span<const float> query, int count) {
  ProposalList list{CandidateSource::faiss, {}};
  assert(query.size() == std::size_t(places.clusters) * std::size_t(places.local_dimension));
  const bool usable =
      std::all_of(query.begin(), query.end(), [](float v) { return std::isfinite(v); });
  if (count <= 0 || !usable || all_zero(query)) return list;

  // FAISS would spread queries over threads, but here is one: the rows are spread instead. A call
  // with a single query runs in the calling thread.
  const std::size_t rows = places.descriptor.size() / query.size();
  const std::size_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  std::vector<std::vector<Proposal>> best_of_block(blocks);
  parallel_for(blocks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t first = i * kBlockRows;
      const std::size_t block_rows = std::min(kBlockRows, rows - first);
      const auto part = places.descriptor.subspan(first * query.size(), block_rows * query.size());
      best_of_block[i] = Block(part, first, query).best(std::size_t(count));
    }
  });
  for (const auto& best : best_of_block) {
    list.proposals.insert(list.proposals.end(), best.begin(), best.end());
  }
  keep_best(list.proposals, std::size_t(count));
  return list;
}

ProposalList search_any_turn(const MapPlaces& places, std::span<const float> queries, int dimension,
                             int count) {
  assert(dimension > 0 && queries.size() % std::size_t(dimension) == 0);
  ProposalList all{CandidateSource::faiss, {}};
  for (std::size_t begin = 0; begin < queries.size(); begin += std::size_t(dimension)) {
    const ProposalList found =
        search_places(places, queries.subspan(begin, std::size_t(dimension)), count);
    for (const Proposal& proposal : found.proposals) {
      const auto same = std::find_if(
          all.proposals.begin(), all.proposals.end(),
          [&](const Proposal& other) { return other.image_index == proposal.image_index; });
      if (same == all.proposals.end()) {
        all.proposals.push_back(proposal);
      } else {
        same->score = std::max(same->score, proposal.score);
      }
    }
  }
  keep_best(all.proposals, std::size_t(std::max(0, count)));
  return all;
}

}  // namespace skyfix
