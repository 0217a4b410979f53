#include "skyfix/models/mast3r/mast3r_pairing.h"

#include <algorithm>
#include <cmath>

namespace skyfix {
namespace {

constexpr double kRebuildCostMs = 30;  // of a feature

std::vector<ReleasableCache*> with(std::vector<ReleasableCache*> caches, const Mast3r& network,
                                   ReleasableCache* features) {
  caches.push_back(&network.graphs());
  caches.push_back(features);
  return caches;
}

// Rows of tokens of the descriptors' MLP at once under this effort; 0 = all.
int token_rows(const Mast3rPairOptions& options, const Effort& effort, const Mast3rGrid& grid) {
  if (effort.chunk_scale >= 1) return options.token_rows;
  const int all = options.token_rows > 0 ? options.token_rows : grid.height / 16;
  return std::max(1, static_cast<int>(all * effort.chunk_scale));
}

}  // namespace

Mast3rPairing::Mast3rPairing(const std::shared_ptr<const Mast3r>& network, MakeTwin make_twin,
                             Device* device, CacheLimits limits,
                             std::vector<ReleasableCache*> caches)
    : features_(limits, kRebuildCostMs),
      guarded_(network, std::move(make_twin), device,
               with(std::move(caches), *network, &features_)) {}

// Those that are cached, and the others encoded together.
std::vector<Mast3rPairing::Feature> Mast3rPairing::features_of(
    const Mast3r& network, bool on_cpu, int long_side,
    std::span<const Mast3rReferencePhoto* const> references) {
  std::vector<Feature> features(references.size());
  for (std::size_t i = 0; i < references.size(); ++i) {
    const auto& reference = *references[i];
    if (!on_cpu) {
      if (const auto kept = features_.find(reference.key)) features[i] = *kept;
    }
    if (features[i]) continue;
    reference.load(
        [&](const PictureView& picture) { features[i] = network.encode(picture, long_side); });
    if (on_cpu) continue;
    features_.make_room(features[i]->bytes());
    features_.insert(reference.key, features[i], features[i]->bytes());
  }
  return features;
}

void Mast3rPairing::pairs(Mast3rQueryPhoto& query, std::span<const Mast3rReferencePhoto> references,
                          const Mast3rPairOptions& options, const Mast3r::PairSink& sink,
                          RetryReport& report) {
  std::vector<bool> done(references.size());
  guarded_.run(report, [&](const Mast3r& network, const Effort& effort) {
    Feature feature = effort.on_cpu ? nullptr : query.feature;
    if (!feature) feature = network.encode(query.picture, query.long_side);
    if (!effort.on_cpu) query.feature = feature;
    Mast3rPairOptions smaller = options;
    smaller.batch = effort.less_on_device || effort.on_cpu
                        ? 1
                        : std::max(1, static_cast<int>(options.batch * effort.batch_scale));
    smaller.token_rows = token_rows(options, effort, feature->grid());
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (!done[i]) left.push_back(i);
    }
    for (std::size_t first = 0; first < left.size(); first += smaller.batch) {
      const std::size_t count = std::min<std::size_t>(smaller.batch, left.size() - first);
      std::vector<const Mast3rReferencePhoto*> batch;
      for (std::size_t k = 0; k < count; ++k) batch.push_back(&references[left[first + k]]);
      const auto features = features_of(network, effort.on_cpu, query.long_side, batch);
      std::vector<Mast3rReference> described;
      for (std::size_t k = 0; k < count; ++k) described.push_back({features[k], batch[k]->xy});
      network.pairs(*feature, described, smaller, [&](std::size_t k, const Mast3rPair& pair) {
        sink(left[first + k], pair);
        done[left[first + k]] = true;
      });
    }
  });
}

}  // namespace skyfix
