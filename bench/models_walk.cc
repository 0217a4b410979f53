// A run of photos through ever new references, under the device's cap.
#include <algorithm>
#include <chrono>

#include "bench/match_data.h"
#include "bench/models_benchmark.h"
#include "skyfix/match/device_pairs.h"
#include "skyfix/models/dinov3/dinov3_config.h"
#include "skyfix/models/mast3r/mast3r_pairing.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::bench {
namespace {

constexpr std::uint64_t kUsualCachedFeatures = 8;
constexpr int kNewReferences = 3;  // of a frame

class Walk {
 public:
  Walk(ModelsBench& bench, const ModelsBenchmarkOptions& options)
      : bench_(bench),
        options_(options),
        pairing_(
            bench.mast3r,
            [] { return std::make_shared<const Mast3r>(make_synthetic_source(), Mast3rOptions{}); },
            bench.device.get(), cache_limits(options), {&bench.dinov3->graphs()}),
        dinov3_(bench.dinov3,
                [] {
                  DinoV3Options of_size;
                  of_size.config = dinov3_config("dinov3-vitl16");
                  return std::make_shared<const DinoV3>(make_synthetic_source(), NetworkPlacement{},
                                                        of_size);
                },
                bench.device.get(), {&bench.mast3r->graphs(), &bench.dinov3->graphs()}),
        layer_(dinov3_place_layer(bench.dinov3->config())) {
    if (bench.ledger) matcher_ = std::make_unique<DevicePairs>(*bench.ledger, *bench.kernels);
  }

  // The frame's pairs.
  std::int64_t frame(int number, ModelsWalk& walk) {
    const int side = options_.long_side_px, height = side * 3 / 4;
    const BytePicture picture = made_photo(side, height, 1'000'000 + number);
    RetryReport retries;
    dinov3_.run(retries, [&](const DinoV3& network, const Effort&) {
      return network.patches(picture.view(), layer_, DinoV3Facet::value, side);
    });
    note(retries, walk);
    std::vector<Mast3rReferencePhoto> references;
    std::vector<std::vector<float>> places;
    for (int i = 0; i < options_.references; ++i) {
      const std::uint64_t key = std::uint64_t(number) * kNewReferences + i;
      places.push_back(made_places(side, height, options_.places, key));
      references.push_back({key,
                            [=](const std::function<void(const PictureView&)>& use) {
                              use(made_photo(side, height, key).view());
                            },
                            {}});
    }
    for (std::size_t i = 0; i < places.size(); ++i) references[i].xy = places[i];
    Mast3rQueryPhoto query{picture.view(), side};
    std::int64_t pairs = 0;
    pairing_.pairs(
        query, references, {.batch = options_.references},
        [&](std::size_t, const Mast3rPair& pair) { pairs += matched(pair); }, retries);
    note(retries, walk);
    return pairs;
  }

  CacheFigures cache() const { return pairing_.cache_figures(); }

 private:
  static CacheLimits cache_limits(const ModelsBenchmarkOptions& options) {
    const std::uint64_t most = options.cached_features.value_or(kUsualCachedFeatures);
    return {most == 0 ? 0 : UINT64_MAX, most};
  }
  static void note(const RetryReport& retries, ModelsWalk& walk) {
    walk.retries += int(retries.events.size());
    if (!retries.events.empty()) walk.given_up = retries.given_up();
  }
  std::int64_t matched(const Mast3rPair& pair) {
    const SureRows query{pair.query.data, pair.query.rows, pair.query.columns,
                         pair.query_confidence.data};
    const SureRows map{pair.reference.data, pair.reference.rows, pair.reference.columns,
                       pair.reference_confidence.data};
    const bool on_device = matcher_ && pair.query.device == DeviceKind::cuda;
    return std::ssize(on_device ? matcher_->match(query, map) : sure_pairs_on_host(query, map));
  }

  ModelsBench& bench_;
  const ModelsBenchmarkOptions& options_;
  Mast3rPairing pairing_;
  Guarded<DinoV3> dinov3_;
  int layer_;
  std::unique_ptr<DevicePairs> matcher_;
};

}  // namespace

ModelsWalk walk_models(ModelsBench& bench, const ModelsBenchmarkOptions& options) {
  ModelsWalk walk;
  Walk frames(bench, options);
  std::vector<double> times;
  for (int i = 0; i < options.frames; ++i) {
    const auto start = std::chrono::steady_clock::now();
    try {
      walk.pairs += frames.frame(i, walk);
    } catch (const OutOfDeviceMemory&) {
      ++walk.lost;
    }
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
    if (!bench.device) continue;
    std::uint64_t& reserved = 2 * i < options.frames ? walk.reserved_at_half : walk.reserved_at_end;
    reserved = std::max(reserved, bench.device->figures().reserved_bytes);
  }
  walk.frames = options.frames;
  walk.median_ms = median(times);
  walk.cache = frames.cache();
  if (bench.ledger) walk.figures = bench.ledger->figures();
  return walk;
}

}  // namespace skyfix::bench
