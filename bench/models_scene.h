// The networks' parts of a frame: a photo against references whose features are there.
#pragma once

#include <memory>
#include <vector>

#include "bench/models_benchmark.h"
#include "skyfix/match/device_pairs.h"

namespace skyfix::bench {

// Opens the device and loads the networks. Throws Error(bad_option), Error(no_gpu).
ModelsBench open_models_bench(const ModelsBenchmarkOptions& options);

class ModelsScene {
 public:
  ModelsScene(ModelsBench& bench, const ModelsBenchmarkOptions& options);

  BytePicture photo(std::uint64_t seed) const;  // made up, 4:3
  PatchVectors described(const PictureView& photo) const;
  std::vector<float> placed(const PictureView& photo) const;  // VLAD of the patches
  std::shared_ptr<const Mast3rFeature> encoded(const PictureView& photo) const;
  // Two photos from start to end, with descriptors at all pixels of the first and 3D points of
  // both.
  void pair_all_heads(const PictureView& first, const PictureView& second) const;
  void decoded(const Mast3rFeature& query, int count, const Mast3r::PairSink& sink) const;
  std::vector<SurePair> matched(const Mast3rPair& pair) const;

 private:
  ModelsBench& bench_;
  const ModelsBenchmarkOptions& options_;
  int layer_;
  std::vector<std::shared_ptr<const Mast3rFeature>> features_;
  std::vector<std::vector<float>> places_;
  std::vector<float> centres_;
  std::unique_ptr<DevicePairs> pairs_;
};

}  // namespace skyfix::bench
