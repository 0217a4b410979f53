#include "skyfix/retrieval/candidates.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <unordered_map>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"

namespace skyfix {
namespace {

constexpr std::array kPolicies{
    std::pair{CandidatePolicy::retrieval_first, std::string_view("retrieval-first")},
    std::pair{CandidatePolicy::retrieval_only, std::string_view("retrieval-only")},
    std::pair{CandidatePolicy::temporal_first, std::string_view("temporal-first")},
};

const CandidateOrigin* origin_of(const Candidate& candidate, CandidateSource source) {
  const auto found =
      std::find_if(candidate.origins.begin(), candidate.origins.end(),
                   [&](const CandidateOrigin& origin) { return origin.source == source; });
  return found == candidate.origins.end() ? nullptr : &*found;
}

// Every proposed image once, with its best rank in each source.
class Pool {
 public:
  Pool(const Map& map, std::span<const ProposalList> lists) {
    for (const ProposalList& list : lists) {
      // Ranks count images, so that one proposed twice by a source does not push others down.
      std::unordered_map<std::string_view, int> rank_of;
      for (const Proposal& proposal : list.proposals) {
        assert(proposal.image_index < map.image_count());
        const std::string_view name = map.image_name(proposal.image_index);
        const int rank = int(rank_of.size()) + 1;
        if (!rank_of.emplace(name, rank).second) continue;
        add_origin(candidate(name, proposal.image_index), {list.source, rank, proposal.score});
      }
    }
  }

  // Positions of the candidates that a source proposed, in its order.
  std::vector<std::size_t> ranked(CandidateSource source) const {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (origin_of(candidates_[i], source) != nullptr) positions.push_back(i);
    }
    std::stable_sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
      return origin_of(candidates_[a], source)->rank < origin_of(candidates_[b], source)->rank;
    });
    return positions;
  }

  const Candidate& at(std::size_t position) const { return candidates_[position]; }
  std::size_t size() const { return candidates_.size(); }

 private:
  Candidate& candidate(std::string_view name, std::uint32_t image_index) {
    const auto [it, is_new] = position_of_.emplace(name, candidates_.size());
    if (is_new) {
      candidates_.emplace_back();
      candidates_.back().image_index = image_index;
      candidates_.back().name = name;
    }
    return candidates_[it->second];
  }

  static void add_origin(Candidate& candidate, const CandidateOrigin& origin) {
    for (CandidateOrigin& known : candidate.origins) {
      if (known.source != origin.source) continue;
      if (origin.rank < known.rank) known = origin;
      return;
    }
    candidate.origins.push_back(origin);
  }

  std::vector<Candidate> candidates_;
  std::unordered_map<std::string, std::size_t> position_of_;
};

// Takes candidates in turn, each once, up to the limit.
class Selection {
 public:
  Selection(const Pool& pool, int limit)
      : pool_(pool), limit_(std::size_t(std::max(0, limit))), taken_(pool.size(), false) {}

  void take(std::size_t position, CandidateSource source) {
    if (selected_.size() >= limit_ || taken_[position]) return;
    taken_[position] = true;
    selected_.push_back(pool_.at(position));
    selected_.back().selected_source = source;
  }
  // The source's best candidates that are not taken yet, at most `count` of them.
  void take_best(CandidateSource source, std::size_t count) {
    for (const std::size_t position : pool_.ranked(source)) {
      if (count == 0) return;
      if (taken_[position]) continue;
      take(position, source);
      --count;
    }
  }
  std::vector<Candidate> finish() { return std::move(selected_); }

 private:
  const Pool& pool_;
  std::size_t limit_;
  std::vector<bool> taken_;
  std::vector<Candidate> selected_;
};

std::vector<CandidateSource> sources_in_order(CandidatePolicy policy) {
  using enum CandidateSource;
  switch (policy) {
    case CandidatePolicy::retrieval_first:
      return {faiss, temporal, prior};
    case CandidatePolicy::retrieval_only:
      return {faiss};
    case CandidatePolicy::temporal_first:
      return {temporal, faiss, prior};
  }
  assert(false);
  return {};
}

}  // namespace

std::string_view candidate_source_name(CandidateSource source) {
  switch (source) {
    case CandidateSource::faiss:
      return "faiss";
    case CandidateSource::temporal:
      return "temporal";
    case CandidateSource::prior:
      return "prior";
  }
  assert(false);
  return {};
}

std::string_view candidate_policy_name(CandidatePolicy policy) {
  for (const auto& [known, name] : kPolicies) {
    if (known == policy) return name;
  }
  assert(false);
  return {};
}

CandidatePolicy candidate_policy_from_name(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [policy, known] : kPolicies) {
    if (known == name) return policy;
    names.emplace_back(known);
  }
  std::string message = "'" + std::string(name) + "' is not a candidate policy";
  if (const auto nearest = nearest_name(name, names)) message += "; did you mean " + *nearest + "?";
  throw Error(Reason::bad_option,
              message + " (there are: retrieval-first, retrieval-only, temporal-first)");
}

Fusion fuse_candidates(const Map& map, std::span<const ProposalList> lists,
                       const FusionOptions& options) {
  using enum CandidateSource;
  const Pool pool(map, lists);
  Fusion fusion;
  fusion.num_faiss_candidates = int(pool.ranked(faiss).size());
  fusion.num_temporal_candidates = int(pool.ranked(temporal).size());
  fusion.num_prior_candidates = int(pool.ranked(prior).size());

  Selection selection(pool, options.limit);
  const std::vector<CandidateSource> sources = sources_in_order(options.policy);
  const auto share = std::size_t(std::max(0, options.per_source));
  for (const CandidateSource source : sources) selection.take_best(source, share);
  for (const CandidateSource source : sources) selection.take_best(source, pool.size());
  fusion.candidates = selection.finish();
  return fusion;
}

}  // namespace skyfix
