// Times of the networks, eager and as graphs.
#include <algorithm>
#include <chrono>

#include "bench/match_data.h"
#include "bench/models_benchmark.h"
#include "skyfix/match/device_pairs.h"
#include "skyfix/models/dinov3/dinov3_config.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix::bench {
namespace {

constexpr int kWarmUps = 4;  // the second records
constexpr int kClusters = 32;

using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// One photo against references whose features are there.
class Scene {
 public:
  Scene(ModelsBench& bench, const ModelsBenchmarkOptions& options)
      : bench_(bench),
        options_(options),
        query_(photo(1)),
        other_(photo(2)),
        layer_(dinov3_place_layer(bench.dinov3->config())) {
    for (int i = 0; i < options.references; ++i) {
      features_.push_back(bench.mast3r->encode(photo(10 + i).view(), options.long_side_px));
      places_.push_back(made_places(query_.width, query_.height, options.places, i));
    }
    centres_ = described().values;
    centres_.resize(std::size_t(kClusters) * bench.dinov3->config().width);
    if (bench.ledger) pairs_ = std::make_unique<DevicePairs>(*bench.ledger, *bench.kernels);
  }

  PatchVectors described() const {
    return bench_.dinov3->patches(query_.view(), layer_, DinoV3Facet::value, options_.long_side_px);
  }
  std::vector<float> placed() const {
    return vlad_of_rows(centres_, kClusters, described().values);
  }
  std::shared_ptr<const Mast3rFeature> encoded() const {
    return bench_.mast3r->encode(query_.view(), options_.long_side_px);
  }
  // Two photos from start to end, with descriptors at all pixels of the first and 3D points of
  // both.
  void pair_all_heads() const {
    const PictureView views[] = {query_.view(), other_.view()};
    const auto features = bench_.mast3r->encode(views, options_.long_side_px, 2);
    const std::vector<Mast3rReference> references{{features[1], places_[0]}};
    bench_.mast3r->pairs(*features[0], references, {.points = true},
                         [](std::size_t, const Mast3rPair&) {});
  }
  void decoded(const Mast3rFeature& query, int count, const Mast3r::PairSink& sink) const {
    std::vector<Mast3rReference> references;
    for (int i = 0; i < count; ++i) references.push_back({features_[i], places_[i]});
    bench_.mast3r->pairs(query, references, {.batch = count}, sink);
  }
  std::size_t matched(const Mast3rPair& pair) const {
    const SureRows query{pair.query.data, pair.query.rows, pair.query.columns,
                         pair.query_confidence.data};
    const SureRows map{pair.reference.data, pair.reference.rows, pair.reference.columns,
                       pair.reference_confidence.data};
    return (pairs_ ? pairs_->match(query, map) : sure_pairs_on_host(query, map)).size();
  }

 private:
  BytePicture photo(std::uint64_t seed) const {
    return made_photo(options_.long_side_px, options_.long_side_px * 3 / 4, seed);
  }
  ModelsBench& bench_;
  const ModelsBenchmarkOptions& options_;
  BytePicture query_, other_;
  int layer_;
  std::vector<std::shared_ptr<const Mast3rFeature>> features_;
  std::vector<std::vector<float>> places_;
  std::vector<float> centres_;
  std::unique_ptr<DevicePairs> pairs_;
};

std::vector<double> times_of(const ModelsBench& bench, const std::function<void()>& run,
                             int repeat) {
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + repeat; ++i) {
    bench.synchronize();
    const auto start = Clock::now();
    run();
    bench.synchronize();
    if (i >= kWarmUps) times.push_back(milliseconds_since(start));
  }
  return times;
}

void use_graphs(const ModelsBench& bench, bool wanted) {
  bench.mast3r->use_graphs(wanted);
  bench.dinov3->use_graphs(wanted);
}

}  // namespace

std::vector<ModelTime> time_models(ModelsBench& bench, const ModelsBenchmarkOptions& options) {
  const Scene scene(bench, options);
  const auto query = scene.encoded();
  std::vector<Mast3rPair> pairs(options.references);
  scene.decoded(*query, options.references,
                [&](std::size_t i, const Mast3rPair& pair) { pairs[i] = pair; });
  const auto nothing = [](std::size_t, const Mast3rPair&) {};
  const auto match = [&](std::size_t, const Mast3rPair& pair) { scene.matched(pair); };
  const std::string each = std::to_string(options.references);
  const std::vector<std::pair<std::string, std::function<void()>>> works{
      {"DINOv3-L patches", [&] { scene.described(); }},
      {"DINOv3-L patches + VLAD", [&] { scene.placed(); }},
      {"MASt3R encoder", [&] { scene.encoded(); }},
      {"MASt3R pair, all heads", [&] { scene.pair_all_heads(); }},
      {"MASt3R decoder + descriptors x 1", [&] { scene.decoded(*query, 1, nothing); }},
      {"MASt3R query x " + each + " cached",
       [&] { scene.decoded(*scene.encoded(), options.references, nothing); }},
      {"matching x " + each,
       [&] {
         for (const Mast3rPair& pair : pairs) scene.matched(pair);
       }},
      {"frame: DINOv3 + VLAD + MASt3R x " + each + " + matching",
       [&] {
         scene.placed();
         scene.decoded(*scene.encoded(), options.references, match);
       }},
  };
  std::vector<ModelTime> times;
  for (const auto& [what, run] : works) {
    use_graphs(bench, false);
    const std::vector<double> eager = times_of(bench, run, options.repeat);
    use_graphs(bench, true);
    const std::vector<double> graphs = times_of(bench, run, options.repeat);
    times.push_back(
        {what, median(eager), median(graphs), *std::min_element(graphs.begin(), graphs.end())});
  }
  return times;
}

}  // namespace skyfix::bench
