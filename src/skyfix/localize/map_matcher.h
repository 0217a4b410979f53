// The port for matchers: from a photo and its candidate map images to 2D-3D pairs. A new one is a
// source file, a line in make_map_matcher (matchers.h) and a test.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "skyfix/geo/camera.h"
#include "skyfix/geo/rigid3.h"
#include "skyfix/image/image.h"
#include "skyfix/localize/map_match.h"
#include "skyfix/map/map_folder.h"
#include "skyfix/memory/retry.h"

namespace skyfix {

// A map image to match with, and by how many quarters (clockwise, 0..3) the photo is to be turned
// so that both have about the same heading.
struct TurnedCandidate {
  std::uint32_t image = 0;  // map image index
  int turn = 0;
  bool operator==(const TurnedCandidate&) const = default;
};

// The candidates' images by turn, in their order.
std::map<int, std::vector<std::uint32_t>> images_by_turn(
    std::span<const TurnedCandidate> candidates);

class MapMatcher {
 public:
  // What is kept of one photo between the steps below.
  class Query {
   public:
    virtual ~Query() = default;
  };

  virtual ~MapMatcher() = default;
  virtual std::string_view kind() const = 0;  // "sift", "xfeat", "xfeat-dense", "aliked", "mast3r"
  virtual bool wants_colour() const = 0;      // RGB pictures; else grey
  // False for what matches whatever the turn (SIFT): turns are ignored then.
  virtual bool needs_turn() const = 0;
  // How many candidates are worth matching, at most; the rest is not looked at.
  virtual int max_candidates() const = 0;

  // `picture` as stored; it must outlive the query. Throws Error(no_features) when it holds nothing
  // to match. All of these throw DeviceFailure, and std::bad_alloc for host memory; device memory
  // is the matcher's own care. Not thread-safe.
  virtual std::unique_ptr<Query> read(const Image& picture) = 0;
  // A cheap count of what the photo, turned, and a map image have in common: to tell headings
  // apart.
  virtual int rough_matches(Query& query, const TurnedCandidate& candidate) = 0;
  // Pairs in pixels of the photo as stored, at most `max_pairs` (0 = all), best first. Each place
  // of the photo (MapPair::feature) is claimed once.
  virtual MapMatches match(Query& query, std::span<const TurnedCandidate> candidates,
                           int max_pairs) = 0;
  // Once a pose is known: looks for every point of the candidates near its projection.
  virtual GuidedMatches search(Query& query, std::span<const TurnedCandidate> candidates,
                               const Camera& camera, const Rigid3& cam_from_map,
                               double radius_px) = 0;
};

}  // namespace skyfix
