// Which way to turn a photo before a learned matcher sees it: a hypothesis between retrieval and
// matching. What is known (the last fix, the gimbal's yaw) is tried first and must be borne out by
// the pictures, since photos get turned after they were taken; else all four quarters are tried.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "skyfix/localize/map_matcher.h"
#include "skyfix/map/map_folder.h"

namespace skyfix {

struct HeadingHint {
  std::string source;   // "last fix", "gimbal"
  Rigid3 cam_from_map;  // only its rotation matters
};

struct TurnChoice {
  std::vector<TurnedCandidate> candidates;  // in the order given
  int turn = 0;                             // of the candidate that decided
  std::string source;                       // a hint's, or "tried"
};

// Rough matches that bear a hint out, in any one of the candidates looked at.
inline constexpr int kTurnBorneOut = 40;
// Candidates that are looked at to tell turns apart.
inline constexpr int kTurnWitnesses = 3;

// Each of the four turns, as seen from the first candidate: how to turn the photo for all of them.
std::vector<std::vector<TurnedCandidate>> all_turns(const Map& map,
                                                    std::span<const std::uint32_t> candidates);

// `rough_matches` counts what the turned photo and a map image have in common. At least one
// candidate.
TurnChoice choose_turns(const Map& map, std::span<const std::uint32_t> candidates,
                        std::span<const HeadingHint> hints,
                        const std::function<int(const TurnedCandidate&)>& rough_matches);

}  // namespace skyfix
