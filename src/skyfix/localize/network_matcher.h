// Matching with a network's features (XFeat, ALIKED): LightGlue between the photo's keypoints and
// each candidate's map observations, or exact mutual nearest neighbours between a dense grid of the
// photo's descriptors and the candidates' map points (xfeat.md, section 7). The map holds the
// network's descriptors exactly at its observations.
#pragma once

#include <functional>
#include <memory>

#include "skyfix/localize/map_matcher.h"
#include "skyfix/localize/match_context.h"
#include "skyfix/models/lightglue/lightglue.h"
#include "skyfix/models/local_network.h"

namespace skyfix {

struct NetworkMatcherOptions {
  int max_features = 2048;      // of the photo, the strongest
  int long_side_px = 1600;      // the photo is shrunk to this; 0 = never
  double min_cosine = 0.82;     // of mutual neighbours, dense and rough
  int grid_px = 4;              // dense: of the shrunk photo
  int max_candidates = 8;       // LightGlue looks at each by itself
  double search_cosine = 0.75;  // of a point found near its projection
  void validate() const;        // throws Error(bad_option)
};

// The networks again, on the CPU. `lightglue` null = dense.
struct NetworkTwin {
  std::shared_ptr<const LocalNetwork> network;
  std::shared_ptr<const LightGlue> lightglue;
};

// `lightglue` null = dense. `make_twin` is called, at most once, when the device's memory runs out
// even for one picture; without, such a frame fails. Throws Error(missing_in_map), and
// Error(bad_weights) when the map's descriptors were made with other weights than the network's.
std::unique_ptr<MapMatcher> make_network_matcher(const Map& map,
                                                 std::shared_ptr<const LocalNetwork> network,
                                                 std::shared_ptr<const LightGlue> lightglue,
                                                 const MatchContext& matching,
                                                 const NetworkMatcherOptions& options = {},
                                                 std::function<NetworkTwin()> make_twin = {});

// Descriptors of one picture at its observations ([n,2], COLMAP px): what the map keeps of it.
std::vector<float> describe_observations(const LocalNetwork& network, const Image& picture,
                                         std::span<const float> xy, int long_side_px);

// The note of the map that says which weights a kind of features was made with.
std::string network_note_key(std::string_view kind);

}  // namespace skyfix
