#include "skyfix/localize/mast3r_matcher.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/features/network_features.h"
#include "skyfix/localize/peak_search.h"
#include "skyfix/localize/turn.h"
#include "skyfix/match/device_pairs.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kTurnStride = 1u << 28;  // pixels of different turns are numbered apart
constexpr int kRoughLongSidePx = 256;

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
  std::map<int, Mast3rQueryPhoto> photos;       // by long side
  std::map<std::uint32_t, Mast3rPair> decoded;  // by map image

  Mast3rGrid grid(int long_side_px) const {
    return mast3r_grid(picture.width, picture.height, long_side_px);
  }
};

struct Mast3rQuery : MapMatcher::Query {
  explicit Mast3rQuery(const Image& of) : stored(of) {}
  const Image& stored;
  std::array<std::optional<TurnedQuery>, 4> turned;
  std::vector<RetryEvent> retries;  // so far
};

class Mast3rMatcher : public MapMatcher {
 public:
  Mast3rMatcher(const Map& map, fs::path photos, const std::shared_ptr<const Mast3r>& network,
                const MatchContext& matching, const Mast3rMatcherOptions& options)
      : map_(map),
        photos_(std::move(photos)),
        options_(options),
        ledger_(matching.ledger),
        pairing_(network, options.make_twin, device_of(*network, matching),
                 {options.cache_bytes, options.cached_features}) {
    if (ledger_ != nullptr && matching.kernels != nullptr) {
      pairs_ = std::make_unique<DevicePairs>(*ledger_, *matching.kernels);
    }
  }

  std::string_view kind() const override { return "mast3r"; }
  bool wants_colour() const override { return true; }
  bool needs_turn() const override { return true; }
  int max_candidates() const override { return options_.max_candidates; }

  std::unique_ptr<Query> read(const Image& picture) override {
    return std::make_unique<Mast3rQuery>(picture);
  }

  int rough_matches(Query& query, const TurnedCandidate& candidate) override {
    std::size_t count = 0;
    auto& photo = static_cast<Mast3rQuery&>(query);
    decode(photo, candidate.turn, {&candidate.image, 1}, kRoughLongSidePx,
           [&](std::uint32_t, const Mast3rPair& pair) { count = sure_pairs(photo, pair).size(); });
    return static_cast<int>(count);
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
    matches.retries.events = std::exchange(photo.retries, {});
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
  // Of the network, where its memory can run out.
  static Device* device_of(const Mast3r& network, const MatchContext& matching) {
    const bool can_run_out = network.device() == DeviceKind::cuda && matching.ledger != nullptr;
    return can_run_out ? &matching.ledger->device() : nullptr;
  }

  TurnedQuery& turned(Mast3rQuery& query, int turns) const {
    auto& slot = query.turned[turns & 3];
    if (!slot) slot.emplace(TurnedQuery{turn(query.stored, turns), {}, {}});
    return *slot;
  }

  Mast3rReferencePhoto reference_photo(std::uint32_t image, int long_side_px,
                                       std::span<const float> xy) const {
    const auto load = [this, image](const std::function<void(const PictureView&)>& use) {
      const Image picture = decode_image(photos_ / map_.image_name(image), {.grey = false});
      use(picture_view(picture));
    };
    return {(std::uint64_t(long_side_px) << 32) | image, load, xy};
  }

  template <class Sink>
  void decode(Mast3rQuery& query, int turn, std::span<const std::uint32_t> images, int long_side_px,
              const Sink& sink) {
    std::vector<std::vector<float>> places;
    std::vector<Mast3rReferencePhoto> references;
    for (const std::uint32_t image : images) places.push_back(observation_xy(map_, image));
    for (std::size_t i = 0; i < images.size(); ++i) {
      references.push_back(reference_photo(images[i], long_side_px, places[i]));
    }
    TurnedQuery& of_turn = turned(query, turn);
    Mast3rQueryPhoto& photo = of_turn.photos[long_side_px];
    photo.picture = picture_view(of_turn.picture);
    photo.long_side = long_side_px;
    Mast3rPairOptions options;
    options.batch = options_.batch;
    RetryReport report;
    pairing_.pairs(
        photo, references, options,
        [&](std::size_t i, const Mast3rPair& pair) { sink(images[i], pair); }, report);
    query.retries.insert(query.retries.end(), report.events.begin(), report.events.end());
  }

  // Mutual nearest neighbours of which both sides are sure, found where the rows lie; on the host
  // where the device has no memory for it.
  std::vector<SurePair> sure_pairs(Mast3rQuery& query, const Mast3rPair& pair) {
    std::vector<SurePair> pairs;
    if (pairs_ && pair.query.device == ledger_->device().kind()) {
      try {
        pairs = pairs_->match(sure_rows(pair.query, pair.query_confidence),
                              sure_rows(pair.reference, pair.reference_confidence));
        return sure_ones(std::move(pairs));
      } catch (const OutOfDeviceMemory& failure) {
        query.retries.push_back(
            {RetryStep::cpu, failure.failure(), failure.owner(), failure.bytes()});
      }
      pairs_->workspace().release_unpinned();
    }
    return sure_ones(pairs_on_host(pair));
  }

  static SureRows sure_rows(const Mast3rRows& rows, const Mast3rRows& confidence) {
    return {rows.data, rows.rows, rows.columns, confidence.data};
  }

  static std::vector<SurePair> pairs_on_host(const Mast3rPair& pair) {
    const std::vector<float> query = pair.query.to_host(), reference = pair.reference.to_host();
    const std::vector<float> query_sure = pair.query_confidence.to_host();
    const std::vector<float> reference_sure = pair.reference_confidence.to_host();
    return sure_pairs_on_host(
        {query.data(), pair.query.rows, pair.query.columns, query_sure.data()},
        {reference.data(), pair.reference.rows, pair.reference.columns, reference_sure.data()});
  }

  std::vector<SurePair> sure_ones(std::vector<SurePair> pairs) const {
    std::erase_if(pairs,
                  [&](const SurePair& pair) { return !(pair.sure >= options_.min_confidence); });
    return pairs;
  }

  Eigen::Vector2f stored_pixel(const Mast3rQuery& query, int turn, const Mast3rPlace& place) const {
    return before_turn({float(place.x), float(place.y)}, turn, query.stored.width,
                       query.stored.height);
  }

  void add_pairs(Mast3rQuery& query, int turn, std::uint32_t image, const Mast3rPair& pair,
                 std::vector<MapPair>& pairs) {
    const Mast3rGrid grid = query.turned[turn]->grid(options_.long_side_px);
    const std::uint64_t first = map_.observation_offset()[image];
    for (const SurePair& sure : sure_pairs(query, pair)) {
      const Eigen::Vector2f at = stored_pixel(query, turn, grid.centre_of(sure.mutual.query));
      pairs.push_back(
          {static_cast<std::uint32_t>(sure.mutual.query) + kTurnStride * std::uint32_t(turn),
           at.x(), at.y(), map_.observation_point()[first + sure.mutual.map], image,
           sure.mutual.score, sure.sure});
    }
  }

  void search_candidate(Mast3rQuery& query, const TurnedCandidate& candidate, const Camera& camera,
                        const Rigid3& cam_from_map, double radius_px,
                        std::map<std::uint32_t, bool>& expected, GuidedMatches& found) const;

  const Map& map_;
  fs::path photos_;
  Mast3rMatcherOptions options_;
  Ledger* ledger_;  // null = the CPU alone
  Mast3rPairing pairing_;
  std::unique_ptr<DevicePairs> pairs_;
};

// Near each projection of the candidate's points, in the descriptors of the pair.
void Mast3rMatcher::search_candidate(Mast3rQuery& query, const TurnedCandidate& candidate,
                                     const Camera& camera, const Rigid3& cam_from_map,
                                     double radius_px, std::map<std::uint32_t, bool>& expected,
                                     GuidedMatches& found) const {
  const auto& slot = query.turned[candidate.turn];
  if (!slot || !slot->decoded.contains(candidate.image)) return;
  const Mast3rPair& pair = slot->decoded.at(candidate.image);
  const Mast3rGrid grid = slot->grid(options_.long_side_px);
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
  return std::make_unique<Mast3rMatcher>(map, std::move(photos), network, matching, options);
}

}  // namespace skyfix
