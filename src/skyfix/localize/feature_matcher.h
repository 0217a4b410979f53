// Matching sparse features that stand any turn of the picture (SIFT): exact mutual nearest
// neighbours over the candidates' map-point descriptors, and a guided search once a pose is known.
#pragma once

#include <memory>

#include "skyfix/localize/map_matcher.h"
#include "skyfix/localize/match_context.h"

namespace skyfix {

// The map's features of the extractor's kind are matched; min_score is of the guided search. What
// `matching` refers to must outlive it. Throws Error(missing_in_map).
std::unique_ptr<MapMatcher> make_feature_matcher(const Map& map,
                                                 std::unique_ptr<LocalFeatures> extractor,
                                                 const MatchContext& matching, double min_score);

}  // namespace skyfix
