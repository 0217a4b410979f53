#include "skyfix/localize/mast3r_matcher.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "skyfix/base/error.h"
#include "skyfix/features/network_features.h"
#include "skyfix/localize/peak_search.h"
#include "skyfix/localize/turn.h"
#include "skyfix/memory/bounded_cache.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

using Feature = std::shared_ptr<const Mast3rFeature>;

constexpr std::uint32_t kTurnStride = 1u << 28;  // pixels of different turns are numbered apart
constexpr int kRoughLongSidePx = 256;
constexpr double kRebuildCostMs = 30;  // of an encoder feature

// Where a candidate's points are described: its observations.
std::vector<float> observation_xy(const Map& map, std::uint32_t image) {
  const auto pixel = map.observation_pixel();
  std::vector<float> xy;
  for (std::uint64_t row = 2 * map.observation_offset()[image];
       row < 2 * map.observation_offset()[image + 1]; ++row) {
    xy.push_back(static_cast<float>(pixel[row]));
  }
  return xy;
}

// The photo in one of its turns, and what it was decoded to with each candidate of that turn.
struct TurnedQuery {
  Image picture;
  std::map<int, Feature> features;              // by long side
  std::map<std::uint32_t, Mast3rPair> decoded;  // by map image
};

struct Mast3rQuery : MapMatcher::Query {
  explicit Mast3rQuery(const Image& of) : stored(of) {}
  const Image& stored;
  std::array<std::optional<TurnedQuery>, 4> turned;
};

class Mast3rMatcher : public MapMatcher {
 public:
  Mast3rMatcher(const Map& map, fs::path photos, std::shared_ptr<const Mast3r> network,
                const MatchContext& matching, const Mast3rMatcherOptions& options)
      : map_(map),
        photos_(std::move(photos)),
        network_(std::move(network)),
        matching_(matching),
        options_(options),
        features_({options.cache_bytes, options.cached_features}, kRebuildCostMs) {}

  std::string_view kind() const override { return "mast3r"; }
  bool wants_colour() const override { return true; }
  bool needs_turn() const override { return true; }
  int max_candidates() const override { return options_.max_candidates; }

  std::unique_ptr<Query> read(const Image& picture) override {
    return std::make_unique<Mast3rQuery>(picture);
  }

  int rough_matches(Query& query, const TurnedCandidate& candidate) override {
    Mast3rPair pair;
    decode(static_cast<Mast3rQuery&>(query), candidate.turn, {&candidate.image, 1},
           kRoughLongSidePx, [&](std::uint32_t, const Mast3rPair& decoded) { pair = decoded; });
    return static_cast<int>(sure_pairs(pair).size());
  }

  MapMatches match(Query& query, std::span<const TurnedCandidate> candidates,
                   int max_pairs) override {
    auto& photo = static_cast<Mast3rQuery&>(query);
    MapMatches matches;
    for (const auto& [turn, images] : images_by_turn(candidates)) {
      decode(photo, turn, images, options_.long_side_px,
             [&, turn = turn](std::uint32_t image, const Mast3rPair& pair) {
               add_pairs(photo, turn, image, pair, matches.pairs);
               photo.turned[turn]->decoded[image] = pair;
             });
    }
    matches.pairs = settle_points(settle_features(std::move(matches.pairs)));
    std::stable_sort(matches.pairs.begin(), matches.pairs.end(),
                     [](const MapPair& a, const MapPair& b) { return a.margin > b.margin; });
    if (max_pairs > 0 && matches.pairs.size() > std::size_t(max_pairs)) {
      matches.pairs.resize(max_pairs);
    }
    return matches;
  }

  GuidedMatches search(Query& query, std::span<const TurnedCandidate> candidates,
                       const Camera& camera, const Rigid3& cam_from_map,
                       double radius_px) override {
    auto& photo = static_cast<Mast3rQuery&>(query);
    GuidedMatches found;
    std::map<std::uint32_t, bool> expected;
    for (const TurnedCandidate& candidate : candidates) {
      search_candidate(photo, candidate, camera, cam_from_map, radius_px, expected, found);
    }
    found.expected = static_cast<int>(expected.size());
    found.pairs = settle_points(std::move(found.pairs));
    return found;
  }

 private:
  TurnedQuery& turned(Mast3rQuery& query, int turns) const {
    auto& slot = query.turned[turns & 3];
    if (!slot) slot.emplace(TurnedQuery{turn(query.stored, turns), {}, {}});
    return *slot;
  }

  Feature query_feature(TurnedQuery& query, int long_side_px) const {
    Feature& feature = query.features[long_side_px];
    if (!feature) feature = network_->encode(picture_view(query.picture), long_side_px);
    return feature;
  }

  // Of a map photo, kept from frame to frame.
  Feature reference_feature(std::uint32_t image, int long_side_px) {
    const std::uint64_t key = (std::uint64_t(long_side_px) << 32) | image;
    if (const auto kept = features_.find(key)) return *kept;
    const Image picture = decode_image(photos_ / map_.image_name(image), {.grey = false});
    Feature feature = network_->encode(picture_view(picture), long_side_px);
    features_.make_room(feature->bytes());
    features_.insert(key, feature, feature->bytes());
    return feature;
  }

  template <class Sink>
  void decode(Mast3rQuery& query, int turn, std::span<const std::uint32_t> images, int long_side_px,
              const Sink& sink) {
    std::vector<std::vector<float>> places;
    std::vector<Mast3rReference> references;
    for (const std::uint32_t image : images) places.push_back(observation_xy(map_, image));
    for (std::size_t i = 0; i < images.size(); ++i) {
      references.push_back({reference_feature(images[i], long_side_px), places[i]});
    }
    Mast3rPairOptions options;
    options.batch = options_.batch;
    network_->pairs(*query_feature(turned(query, turn), long_side_px), references, options,
                    [&](std::size_t i, const Mast3rPair& pair) { sink(images[i], pair); });
  }

  // Mutual nearest neighbours of which both sides are sure.
  struct SurePair {
    MutualPair mutual;
    float confidence = 0;
  };
  std::vector<SurePair> sure_pairs(const Mast3rPair& pair) const {
    const std::vector<float> query = pair.query.to_host();
    const std::vector<float> reference = pair.reference.to_host();
    const std::vector<float> query_sure = pair.query_confidence.to_host();
    const std::vector<float> reference_sure = pair.reference_confidence.to_host();
    const auto found = mutual_pairs(
        nearest_neighbours({query.data(), pair.query.rows, pair.query.columns},
                           {reference.data(), pair.reference.rows, pair.reference.columns}));
    std::vector<SurePair> sure;
    for (const MutualPair& mutual : found) {
      const float confidence = std::min(query_sure[mutual.query], reference_sure[mutual.map]);
      if (confidence >= options_.min_confidence) sure.push_back({mutual, confidence});
    }
    return sure;
  }

  Eigen::Vector2f stored_pixel(const Mast3rQuery& query, int turn, const Mast3rPlace& place) const {
    return before_turn({float(place.x), float(place.y)}, turn, query.stored.width,
                       query.stored.height);
  }

  void add_pairs(const Mast3rQuery& query, int turn, std::uint32_t image, const Mast3rPair& pair,
                 std::vector<MapPair>& pairs) const {
    const Mast3rGrid& grid = query.turned[turn]->features.at(options_.long_side_px)->grid();
    const std::uint64_t first = map_.observation_offset()[image];
    for (const SurePair& sure : sure_pairs(pair)) {
      const Eigen::Vector2f at = stored_pixel(query, turn, grid.centre_of(sure.mutual.query));
      pairs.push_back(
          {static_cast<std::uint32_t>(sure.mutual.query) + kTurnStride * std::uint32_t(turn),
           at.x(), at.y(), map_.observation_point()[first + sure.mutual.map], image,
           sure.mutual.score, sure.confidence});
    }
  }

  void search_candidate(Mast3rQuery& query, const TurnedCandidate& candidate, const Camera& camera,
                        const Rigid3& cam_from_map, double radius_px,
                        std::map<std::uint32_t, bool>& expected, GuidedMatches& found) const;

  const Map& map_;
  fs::path photos_;
  std::shared_ptr<const Mast3r> network_;
  MatchContext matching_;
  Mast3rMatcherOptions options_;
  BoundedCache<std::uint64_t, Feature> features_;
};

// Near each projection of the candidate's points, in the descriptors of the pair.
void Mast3rMatcher::search_candidate(Mast3rQuery& query, const TurnedCandidate& candidate,
                                     const Camera& camera, const Rigid3& cam_from_map,
                                     double radius_px, std::map<std::uint32_t, bool>& expected,
                                     GuidedMatches& found) const {
  const auto& slot = query.turned[candidate.turn];
  if (!slot || !slot->decoded.contains(candidate.image)) return;
  const Mast3rPair& pair = slot->decoded.at(candidate.image);
  const Mast3rGrid& grid = slot->features.at(options_.long_side_px)->grid();
  const std::vector<float> pixels = pair.query.to_host();
  const std::vector<float> rows = pair.reference.to_host();
  const std::size_t size = pair.query.columns;
  const std::uint64_t first = map_.observation_offset()[candidate.image];
  std::vector<Eigen::Vector2f> centres;
  std::vector<std::uint32_t> points;
  std::vector<float> wanted;
  for (std::int64_t i = 0; i < pair.reference.rows; ++i) {
    const std::uint32_t point = map_.observation_point()[first + i];
    const auto pixel = camera.project(cam_from_map * map_.point(point));
    if (!pixel || std::isnan(rows[i * size])) continue;
    const Eigen::Vector2f turned =
        after_turn(pixel->cast<float>(), candidate.turn, query.stored.width, query.stored.height);
    const std::int64_t at = grid.pixel_at({turned.x(), turned.y()});
    if (at < 0) continue;
    expected[point] = true;
    points.push_back(point);
    centres.emplace_back(float(at % grid.width) + 0.5f, float(at / grid.width) + 0.5f);
    wanted.insert(wanted.end(), rows.begin() + i * size, rows.begin() + (i + 1) * size);
  }
  const auto look_up = [&](std::span<const float> xy) {
    std::vector<float> samples(xy.size() / 2 * size, 0.0f);
    for (std::size_t k = 0; 2 * k + 1 < xy.size(); ++k) {
      const auto x = static_cast<std::int64_t>(std::floor(xy[2 * k]));
      const auto y = static_cast<std::int64_t>(std::floor(xy[2 * k + 1]));
      if (x < 0 || y < 0 || x >= grid.width || y >= grid.height) continue;
      std::copy_n(pixels.begin() + (y * grid.width + x) * size, size, samples.begin() + k * size);
    }
    return samples;
  };
  const double network_px = double(grid.resized_width) / grid.photo_width;
  const auto peaks =
      find_peaks(centres, wanted, static_cast<int>(size), std::max(1.0, radius_px * network_px), 1,
                 options_.search_cosine, look_up);
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    if (!peaks[i]) continue;
    const Mast3rPlace place = grid.to_photo({peaks[i]->xy.x(), peaks[i]->xy.y()});
    const Eigen::Vector2f at = stored_pixel(query, candidate.turn, place);
    found.pairs.push_back({static_cast<std::uint32_t>(found.pairs.size()), at.x(), at.y(),
                           points[i], candidate.image, peaks[i]->score, 0});
  }
}

}  // namespace

std::unique_ptr<MapMatcher> make_mast3r_matcher(const Map& map, fs::path photos,
                                                std::shared_ptr<const Mast3r> network,
                                                const MatchContext& matching,
                                                const Mast3rMatcherOptions& options) {
  return std::make_unique<Mast3rMatcher>(map, std::move(photos), std::move(network), matching,
                                         options);
}

}  // namespace skyfix
