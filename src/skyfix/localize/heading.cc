#include "skyfix/localize/heading.h"

#include <algorithm>
#include <cassert>

#include "skyfix/localize/turn.h"

namespace skyfix {
namespace {

// How the photo must be turned for each candidate if it was taken like this.
std::vector<TurnedCandidate> turns_for(const Map& map, std::span<const std::uint32_t> candidates,
                                       const Rigid3& cam_from_map) {
  std::vector<TurnedCandidate> turned;
  for (const std::uint32_t image : candidates) {
    turned.push_back({image, quarters_of(turn_between_rad(cam_from_map, map.cam_from_map(image)))});
  }
  return turned;
}

struct Weight {
  int best = 0;  // of one candidate
  int turn = 0;  // its
};

Weight weigh(std::span<const TurnedCandidate> turned,
             const std::function<int(const TurnedCandidate&)>& rough_matches) {
  Weight weight{-1, 0};
  const std::size_t count = std::min<std::size_t>(turned.size(), kTurnWitnesses);
  for (const TurnedCandidate& candidate : turned.first(count)) {
    const int matches = rough_matches(candidate);
    if (matches > weight.best) weight = {matches, candidate.turn};
  }
  return weight;
}

}  // namespace

std::map<int, std::vector<std::uint32_t>> images_by_turn(
    std::span<const TurnedCandidate> candidates) {
  std::map<int, std::vector<std::uint32_t>> images;
  for (const TurnedCandidate& candidate : candidates) {
    images[candidate.turn].push_back(candidate.image);
  }
  return images;
}

std::vector<std::vector<TurnedCandidate>> all_turns(const Map& map,
                                                    std::span<const std::uint32_t> candidates) {
  std::vector<std::vector<TurnedCandidate>> all;
  for (int quarters = 0; quarters < 4; ++quarters) {
    // Taken like the first candidate, but turned back by so much.
    all.push_back(turns_for(map, candidates,
                            turned_camera(map.cam_from_map(candidates.front()), 4 - quarters)));
  }
  return all;
}

TurnChoice choose_turns(const Map& map, std::span<const std::uint32_t> candidates,
                        std::span<const HeadingHint> hints,
                        const std::function<int(const TurnedCandidate&)>& rough_matches) {
  assert(!candidates.empty());
  for (const HeadingHint& hint : hints) {
    auto turned = turns_for(map, candidates, hint.cam_from_map);
    const Weight weight = weigh(turned, rough_matches);
    if (weight.best >= kTurnBorneOut) return {std::move(turned), weight.turn, hint.source};
  }
  TurnChoice choice;
  int most = -1;
  for (auto& turned : all_turns(map, candidates)) {
    const Weight weight = weigh(turned, rough_matches);
    if (weight.best <= most) continue;
    most = weight.best;
    choice = {std::move(turned), weight.turn, "tried"};
  }
  return choice;
}

}  // namespace skyfix
