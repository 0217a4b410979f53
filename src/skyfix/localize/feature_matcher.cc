#include "skyfix/localize/feature_matcher.h"

#include <spdlog/fmt/fmt.h>

#include <limits>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr int kMinFeatures = 16;

std::vector<std::uint32_t> images_of(std::span<const TurnedCandidate> candidates) {
  std::vector<std::uint32_t> images;
  for (const TurnedCandidate& candidate : candidates) images.push_back(candidate.image);
  return images;
}

class FeatureMatcher : public MapMatcher {
 public:
  FeatureMatcher(const Map& map, std::unique_ptr<LocalFeatures> extractor,
                 const MatchContext& matching, double min_score)
      : map_(map),
        extractor_(std::move(extractor)),
        features_(map.features(extractor_->kind())),
        matching_(matching),
        min_score_(min_score) {}

  std::string_view kind() const override { return extractor_->kind(); }
  bool wants_colour() const override { return false; }
  bool needs_turn() const override { return false; }
  int max_candidates() const override { return std::numeric_limits<int>::max(); }

  std::unique_ptr<Query> read(const Image& picture) override {
    auto query = std::make_unique<Features>();
    query->set = extractor_->extract(picture);
    if (query->set.keypoints.size() < kMinFeatures) {
      throw Error(Reason::no_features, fmt::format("{} local features, at least {} are needed",
                                                   query->set.keypoints.size(), kMinFeatures));
    }
    return query;
  }

  int rough_matches(Query& query, const TurnedCandidate& candidate) override {
    return static_cast<int>(match(query, {&candidate, 1}, 0).pairs.size());
  }

  MapMatches match(Query& query, std::span<const TurnedCandidate> candidates,
                   int max_pairs) override {
    return match_to_map(static_cast<Features&>(query).set,
                        candidate_references(features_, images_of(candidates)), max_pairs,
                        matching_.matcher);
  }

  GuidedMatches search(Query& query, std::span<const TurnedCandidate> candidates,
                       const Camera& camera, const Rigid3& cam_from_map,
                       double radius_px) override {
    auto& features = static_cast<Features&>(query);
    const std::vector<std::uint32_t> images = images_of(candidates);
    if (features.pool_of != images) {
      features.pool = gather_candidates(features_, images);
      features.pool_of = images;
    }
    return match_guided(features.set, features.pool, map_, camera, cam_from_map,
                        {radius_px, min_score_});
  }

 private:
  struct Features : Query {
    FeatureSet set;
    CandidatePool pool;  // of pool_of
    std::vector<std::uint32_t> pool_of;
  };

  const Map& map_;
  std::unique_ptr<LocalFeatures> extractor_;
  MapFeatures features_;
  MatchContext matching_;
  double min_score_;
};

}  // namespace

std::unique_ptr<MapMatcher> make_feature_matcher(const Map& map,
                                                 std::unique_ptr<LocalFeatures> extractor,
                                                 const MatchContext& matching, double min_score) {
  return std::make_unique<FeatureMatcher>(map, std::move(extractor), matching, min_score);
}

}  // namespace skyfix
