#include "skyfix/localize/network_matcher.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "skyfix/base/error.h"
#include "skyfix/features/network_features.h"
#include "skyfix/localize/network_view.h"
#include "skyfix/localize/peak_search.h"
#include "skyfix/memory/owner_scope.h"
#include "skyfix/memory/retry.h"

namespace skyfix {
namespace {

constexpr int kMinFeatures = 16;
constexpr int kRoughFeatures = 1024;
// Features of different turns are numbered apart.
constexpr std::uint32_t kTurnStride = 1u << 28;
// Samples across the radius when points are searched near their projections.
constexpr double kSearchSteps = 4;

// Unit means of several candidates' descriptors of one point: what a search near its projection
// compares with.
struct PointPool {
  std::vector<std::uint32_t> point;
  std::vector<std::uint32_t> image;  // the first candidate that sees it
  std::vector<float> descriptors;    // [point.size(), dimension]
};

PointPool pool_points(const MapFeatures& features, std::span<const std::uint32_t> images) {
  PointPool pool;
  std::map<std::uint32_t, std::size_t> slot_of;
  const std::size_t dimension = features.dimension;
  for (const std::uint32_t image : images) {
    for (std::uint64_t row = features.offset[image]; row < features.offset[image + 1]; ++row) {
      const auto [slot, added] = slot_of.emplace(features.point[row], pool.point.size());
      if (added) {
        pool.point.push_back(features.point[row]);
        pool.image.push_back(image);
        pool.descriptors.resize(pool.descriptors.size() + dimension, 0.0f);
      }
      float* sum = pool.descriptors.data() + slot->second * dimension;
      const float* values = features.descriptor.data() + row * dimension;
      for (std::size_t k = 0; k < dimension; ++k) sum[k] += values[k];
    }
  }
  for (std::size_t i = 0; i < pool.point.size(); ++i) {
    Eigen::Map<Eigen::VectorXf> row(pool.descriptors.data() + i * dimension, dimension);
    row.normalize();
  }
  return pool;
}

class NetworkMatcher : public MapMatcher {
 public:
  NetworkMatcher(const Map& map, std::shared_ptr<const LocalNetwork> network,
                 std::shared_ptr<const LightGlue> lightglue, const MatchContext& matching,
                 const NetworkMatcherOptions& options, std::function<NetworkTwin()> make_twin)
      : map_(map),
        network_(std::move(network)),
        lightglue_(std::move(lightglue)),
        make_twin_(std::move(make_twin)),
        features_(map.features(network_->kind())),
        matching_(matching),
        options_(options),
        kind_(std::string(network_->kind()) + (lightglue_ ? "" : "-dense")) {
    if (matching.ledger == nullptr || !make_twin_) return;
    // One picture at a time is all there is: nothing to be had smaller but the CPU.
    ladder_ =
        std::make_unique<RetryLadder>(matching.ledger->device(), std::vector<ReleasableCache*>{},
                                      RetryOptions{.min_chunk_scale = 1, .min_batch_scale = 1});
  }

  std::string_view kind() const override { return kind_; }
  bool wants_colour() const override { return true; }
  bool needs_turn() const override { return true; }
  int max_candidates() const override {
    return lightglue_ ? options_.max_candidates : std::numeric_limits<int>::max();
  }

  std::unique_ptr<Query> read(const Image& picture) override {
    return std::make_unique<Views>(picture);
  }

  int rough_matches(Query& query, const TurnedCandidate& candidate) override {
    RetryReport report;
    return guarded(query, report, [&] {
      const FeatureSet& middle = view(query, candidate.turn).middle(kRoughFeatures);
      return static_cast<int>(mutual(middle, {&candidate.image, 1}).pairs.size());
    });
  }

  MapMatches match(Query& query, std::span<const TurnedCandidate> candidates,
                   int max_pairs) override {
    RetryReport report;
    MapMatches matches = guarded(query, report, [&] {
      return lightglue_ ? glue(query, candidates) : match_dense(query, candidates);
    });
    if (!report.events.empty()) matches.retries = std::move(report);
    matches.pairs = settle_points(settle_features(std::move(matches.pairs)));
    if (max_pairs > 0 && matches.pairs.size() > std::size_t(max_pairs)) {
      matches.pairs.resize(max_pairs);
    }
    return matches;
  }

  GuidedMatches search(Query& query, std::span<const TurnedCandidate> candidates,
                       const Camera& camera, const Rigid3& cam_from_map,
                       double radius_px) override {
    RetryReport report;
    GuidedMatches found = guarded(query, report, [&] {
      GuidedMatches all;
      for (const auto& [turn, images] : images_by_turn(candidates)) {
        search_turn(view(query, turn), pool_points(features_, images), camera, cam_from_map,
                    radius_px, all);
      }
      return all;
    });
    found.pairs = settle_points(std::move(found.pairs));
    found.retries = std::move(report);
    return found;
  }

 private:
  struct Views : Query {
    explicit Views(const Image& of) : picture(of) {}
    const Image& picture;
    std::array<std::unique_ptr<NetworkView>, 4> turned;
    std::array<std::unique_ptr<const LightGlue::Prepared>, 4> prepared;  // their keypoints
    bool on_cpu = false;  // for the rest of this photo
  };

  // work() again after each lack of device memory: without what the query holds there, at last on
  // the CPU.
  template <class Work>
  std::invoke_result_t<Work> guarded(Query& query, RetryReport& report, const Work& work) {
    auto& views = static_cast<Views&>(query);
    const OwnerScope owner(network_->kind());
    use(views.on_cpu);
    if (!ladder_ || views.on_cpu) return work();
    return ladder_->run(report, [&](const Effort& effort) {
      if (!report.events.empty()) {
        views.turned = {};
        views.prepared = {};
      }
      views.on_cpu = effort.on_cpu;
      use(effort.on_cpu);
      return work();
    });
  }

  void use(bool on_cpu) {
    if (on_cpu && !twin_.network) twin_ = make_twin_();
    in_use_ = on_cpu ? twin_.network.get() : network_.get();
    lightglue_in_use_ = on_cpu ? twin_.lightglue.get() : lightglue_.get();
  }

  NetworkView& view(Query& query, int turn) const {
    auto& views = static_cast<Views&>(query);
    auto& slot = views.turned[turn & 3];
    if (!slot) {
      slot = std::make_unique<NetworkView>(views.picture, *in_use_, turn, options_.long_side_px);
    }
    return *slot;
  }

  const LightGlue::Prepared& prepared(Query& query, int turn) const {
    auto& slot = static_cast<Views&>(query).prepared[turn & 3];
    if (!slot) {
      NetworkView& seen = view(query, turn);
      const FeatureSet& features = seen.keypoints(options_.max_features);
      slot = lightglue_in_use_->prepare(
          {seen.keypoints_xy(), features.descriptors, seen.width(), seen.height()});
    }
    return *slot;
  }

  // Exact mutual nearest neighbours that are alike enough.
  MapMatches mutual(const FeatureSet& features, std::span<const std::uint32_t> images) {
    MapMatches matches =
        match_to_map(features, candidate_references(features_, images), 0, matching_.matcher);
    std::erase_if(matches.pairs,
                  [&](const MapPair& pair) { return pair.score < options_.min_cosine; });
    return matches;
  }

  MapMatches match_dense(Query& query, std::span<const TurnedCandidate> candidates) {
    MapMatches all;
    for (const auto& [turn, images] : images_by_turn(candidates)) {
      MapMatches matches = mutual(view(query, turn).grid(options_.grid_px), images);
      for (MapPair& pair : matches.pairs) pair.feature += kTurnStride * std::uint32_t(turn);
      all.pairs.insert(all.pairs.end(), matches.pairs.begin(), matches.pairs.end());
      if (!matches.retries.events.empty()) all.retries = std::move(matches.retries);
    }
    return all;
  }

  MapMatches glue(Query& query, std::span<const TurnedCandidate> candidates) {
    MapMatches all;
    for (const TurnedCandidate& candidate : candidates) {
      NetworkView& seen = view(query, candidate.turn);
      const FeatureSet& features = seen.keypoints(options_.max_features);
      const std::uint64_t first = features_.offset[candidate.image];
      const std::uint64_t rows = features_.offset[candidate.image + 1] - first;
      if (features.keypoints.size() < kMinFeatures || rows == 0) continue;
      const Camera& camera = map_.camera(map_.image_camera(candidate.image)).camera;
      const std::size_t dimension = features_.dimension;
      const LightGlueSide reference{
          features_.pixel.subspan(2 * first, 2 * rows),
          features_.descriptor.subspan(first * dimension, rows * dimension), camera.width,
          camera.height};
      const auto matches = lightglue_in_use_->match(prepared(query, candidate.turn),
                                                    *lightglue_in_use_->prepare(reference));
      for (const LightGlueMatch& match : matches) {
        const Keypoint& at = features.keypoints[match.first];
        all.pairs.push_back({match.first + kTurnStride * std::uint32_t(candidate.turn), at.x, at.y,
                             features_.point[first + match.second], candidate.image, match.score,
                             match.score});
      }
    }
    return all;
  }

  void search_turn(NetworkView& seen, const PointPool& pool, const Camera& camera,
                   const Rigid3& cam_from_map, double radius_px, GuidedMatches& found) const {
    std::vector<Eigen::Vector2f> centres;
    std::vector<std::size_t> slot;
    std::vector<float> wanted;
    const std::size_t dimension = features_.dimension;
    for (std::size_t i = 0; i < pool.point.size(); ++i) {
      const auto pixel = camera.project(cam_from_map * map_.point(pool.point[i]));
      if (!pixel || pixel->x() < 0 || pixel->y() < 0 || pixel->x() > camera.width ||
          pixel->y() > camera.height) {
        continue;
      }
      centres.push_back(seen.to_view(pixel->cast<float>()));
      slot.push_back(i);
      const float* row = pool.descriptors.data() + i * dimension;
      wanted.insert(wanted.end(), row, row + dimension);
    }
    found.expected += static_cast<int>(centres.size());
    const double radius_view_px = radius_px * seen.view_px_per_stored_px();
    const auto peaks =
        find_peaks(centres, wanted, features_.dimension, radius_view_px,
                   radius_view_px / kSearchSteps, options_.search_cosine,
                   [&](std::span<const float> xy) { return in_use_->describe(seen.maps(), xy); });
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      if (!peaks[i]) continue;
      const Eigen::Vector2f stored = seen.to_stored(peaks[i]->xy);
      found.pairs.push_back({static_cast<std::uint32_t>(found.pairs.size()), stored.x(), stored.y(),
                             pool.point[slot[i]], pool.image[slot[i]], peaks[i]->score, 0});
    }
  }

  const Map& map_;
  std::shared_ptr<const LocalNetwork> network_;
  std::shared_ptr<const LightGlue> lightglue_;
  std::function<NetworkTwin()> make_twin_;
  NetworkTwin twin_;  // made when it is needed
  const LocalNetwork* in_use_ = nullptr;
  const LightGlue* lightglue_in_use_ = nullptr;
  std::unique_ptr<RetryLadder> ladder_;  // null: nothing can run out
  MapFeatures features_;
  MatchContext matching_;
  NetworkMatcherOptions options_;
  std::string kind_;
};

void require_same_weights(const Map& map, const LocalNetwork& network) {
  const auto& note = map.note(network_note_key(network.kind()));
  if (!note.is_object() || !note.contains("weights_sha256")) return;
  const auto& noted = note["weights_sha256"];
  const std::string made_with = noted.is_string() ? noted.get<std::string>() : "";
  if (made_with == network.weights_hash()) return;
  throw Error(
      Reason::bad_weights,
      fmt::format("the map's {} descriptors were made with other weights (SHA-256 {}...) "
                  "than these ({}...): give those, or add the kind again with skyfix map "
                  "add",
                  network.kind(), made_with.substr(0, 12), network.weights_hash().substr(0, 12)),
      map.folder());
}

}  // namespace

void NetworkMatcherOptions::validate() const {
  const auto require = [](bool allowed, std::string_view name, double value,
                          std::string_view range) {
    if (!allowed) {
      throw Error(Reason::bad_option, fmt::format("{} is {}; allowed is {}", name, value, range));
    }
  };
  require(max_features >= 0, "--max-features", max_features, "0 (all) or more");
  require(long_side_px == 0 || long_side_px >= 64, "--image-size", long_side_px,
          "0 (as it is) or 64 px or more");
}

std::unique_ptr<MapMatcher> make_network_matcher(const Map& map,
                                                 std::shared_ptr<const LocalNetwork> network,
                                                 std::shared_ptr<const LightGlue> lightglue,
                                                 const MatchContext& matching,
                                                 const NetworkMatcherOptions& options,
                                                 std::function<NetworkTwin()> make_twin) {
  options.validate();
  require_same_weights(map, *network);
  return std::make_unique<NetworkMatcher>(map, std::move(network), std::move(lightglue), matching,
                                          options, std::move(make_twin));
}

std::vector<float> describe_observations(const LocalNetwork& network, const Image& picture,
                                         std::span<const float> xy, int long_side_px) {
  NetworkView view(picture, network, 0, long_side_px);
  std::vector<float> view_xy;
  view_xy.reserve(xy.size());
  for (std::size_t i = 0; i + 1 < xy.size(); i += 2) {
    const Eigen::Vector2f at = view.to_view({xy[i], xy[i + 1]});
    view_xy.insert(view_xy.end(), {at.x(), at.y()});
  }
  return network.describe(view.maps(), view_xy);
}

std::string network_note_key(std::string_view kind) { return "network_" + std::string(kind); }

}  // namespace skyfix
