// MASt3R over a run of photos: features of the references are kept in a bounded cache, and every
// lack of device memory is answered by the retry ladder, at last by the network on the CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "skyfix/memory/bounded_cache.h"
#include "skyfix/models/guarded.h"
#include "skyfix/models/mast3r/mast3r.h"

namespace skyfix {

// A photo that is paired with several others; its feature is kept here between calls.
struct Mast3rQueryPhoto {
  PictureView picture;  // RGB, must outlive the calls
  int long_side = 512;
  std::shared_ptr<const Mast3rFeature> feature{};
};

struct Mast3rReferencePhoto {
  std::uint64_t key = 0;  // equal keys: equal pictures at an equal long side
  // Calls `use` with the picture; only where its feature is not cached.
  std::function<void(const std::function<void(const PictureView&)>& use)> load;
  std::span<const float> xy;  // as in Mast3rReference
};

// Not thread-safe.
class Mast3rPairing {
 public:
  using MakeTwin = Guarded<Mast3r>::MakeTwin;

  // `device` null: the network is on the CPU. `limits` are of the references' features on the
  // device; `caches` are others of the same device.
  Mast3rPairing(const std::shared_ptr<const Mast3r>& network, MakeTwin make_twin, Device* device,
                CacheLimits limits, std::vector<ReleasableCache*> caches = {});

  // As Mast3r::pairs, each reference once, whatever had to be tried again. Rows may be in main
  // memory (Mast3rRows::device). Throws DeviceFailure, what `load` and `sink` throw.
  void pairs(Mast3rQueryPhoto& query, std::span<const Mast3rReferencePhoto> references,
             const Mast3rPairOptions& options, const Mast3r::PairSink& sink, RetryReport& report);

  CacheFigures cache_figures() const { return features_.figures(); }

 private:
  using Feature = std::shared_ptr<const Mast3rFeature>;
  std::vector<Feature> features_of(const Mast3r& network, bool on_cpu, int long_side,
                                   std::span<const Mast3rReferencePhoto* const> references);

  BoundedCache<std::uint64_t, Feature> features_;
  Guarded<Mast3r> guarded_;
};

}  // namespace skyfix
