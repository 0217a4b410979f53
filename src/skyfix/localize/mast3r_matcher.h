// Matching with MASt3R: the photo is decoded with each candidate's photo; all pixels' descriptors
// are matched against those at the candidate's map observations (exact mutual nearest neighbours),
// and the pairs of all candidates are merged by score. The map needs no descriptors for it, but its
// photos.
#pragma once

#include <filesystem>
#include <memory>

#include "skyfix/localize/map_matcher.h"
#include "skyfix/localize/match_context.h"
#include "skyfix/models/mast3r/mast3r_pairing.h"

namespace skyfix {

struct Mast3rMatcherOptions {
  int long_side_px = 512;
  int max_candidates = 5;
  int batch = 5;                      // pairs decoded at once
  double search_cosine = 0.8;         // of a point found near its projection
  double min_confidence = 1.001;      // of the less certain side of a match
  std::uint64_t cached_features = 8;  // encoder features of map photos that are kept; 0 = none
  std::uint64_t cache_bytes = UINT64_MAX;
  // The network on the CPU, for where a device's memory runs out; it must not run out without.
  Mast3rPairing::MakeTwin make_twin{};
};

// `photos` holds the map's photos under their names.
std::unique_ptr<MapMatcher> make_mast3r_matcher(const Map& map, std::filesystem::path photos,
                                                std::shared_ptr<const Mast3r> network,
                                                const MatchContext& matching,
                                                const Mast3rMatcherOptions& options = {});

}  // namespace skyfix
