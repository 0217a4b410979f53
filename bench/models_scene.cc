#include "bench/models_scene.h"

#include "skyfix/models/dinov3/dinov3_config.h"
#include "skyfix/retrieval/vlad.h"

namespace skyfix::bench {
namespace {

constexpr int kClusters = 32;

}  // namespace

ModelsScene::ModelsScene(ModelsBench& bench, const ModelsBenchmarkOptions& options)
    : bench_(bench), options_(options), layer_(dinov3_place_layer(bench.dinov3->config())) {
  const BytePicture first = photo(1);
  for (int i = 0; i < options.references; ++i) {
    features_.push_back(encoded(photo(10 + i).view()));
    places_.push_back(made_places(first.width, first.height, options.places, i));
  }
  centres_ = described(first.view()).values;
  centres_.resize(std::size_t(kClusters) * bench.dinov3->config().width);
  if (bench.ledger) pairs_ = std::make_unique<DevicePairs>(*bench.ledger, *bench.kernels);
}

BytePicture ModelsScene::photo(std::uint64_t seed) const {
  return made_photo(options_.long_side_px, options_.long_side_px * 3 / 4, seed);
}

PatchVectors ModelsScene::described(const PictureView& photo) const {
  return bench_.dinov3->patches(photo, layer_, DinoV3Facet::value, options_.long_side_px);
}

std::vector<float> ModelsScene::placed(const PictureView& photo) const {
  return vlad_of_rows(centres_, kClusters, described(photo).values);
}

std::shared_ptr<const Mast3rFeature> ModelsScene::encoded(const PictureView& photo) const {
  return bench_.mast3r->encode(photo, options_.long_side_px);
}

void ModelsScene::pair_all_heads(const PictureView& first, const PictureView& second) const {
  const PictureView views[] = {first, second};
  const auto features = bench_.mast3r->encode(views, options_.long_side_px, 2);
  const std::vector<Mast3rReference> references{{features[1], places_[0]}};
  bench_.mast3r->pairs(*features[0], references, {.points = true},
                       [](std::size_t, const Mast3rPair&) {});
}

void ModelsScene::decoded(const Mast3rFeature& query, int count,
                          const Mast3r::PairSink& sink) const {
  std::vector<Mast3rReference> references;
  for (int i = 0; i < count; ++i) references.push_back({features_[i], places_[i]});
  bench_.mast3r->pairs(query, references, {.batch = count}, sink);
}

std::vector<SurePair> ModelsScene::matched(const Mast3rPair& pair) const {
  const SureRows query{pair.query.data, pair.query.rows, pair.query.columns,
                       pair.query_confidence.data};
  const SureRows map{pair.reference.data, pair.reference.rows, pair.reference.columns,
                     pair.reference_confidence.data};
  return pairs_ ? pairs_->match(query, map) : sure_pairs_on_host(query, map);
}

}  // namespace skyfix::bench
