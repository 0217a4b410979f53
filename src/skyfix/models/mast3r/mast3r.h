// MASt3R (Leroy et al. 2024): dense descriptors, and 3D points on request, of a pair of pictures.
// Each picture is encoded once; what it is described by depends on its partner and on which of the
// two is view 1, so descriptors belong to one ordered pair. Specification: mast3r.md.
//
// Weights are the user's; those published are for non-commercial use (CC BY-NC-SA 4.0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "skyfix/memory/bounded_cache.h"
#include "skyfix/models/mast3r/mast3r_config.h"
#include "skyfix/models/mast3r/mast3r_grid.h"
#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/placement.h"

namespace skyfix {

// Row-major fp32 rows in the memory of the network's device. On a GPU they are ready in order with
// LibTorch's current stream.
struct Mast3rRows {
  const float* data = nullptr;
  std::int64_t rows = 0;
  int columns = 0;
  DeviceKind device = DeviceKind::cpu;
  std::shared_ptr<const void> keep{};  // what `data` points into

  // A copy on the host; waits for the device. Throws DeviceFailure.
  std::vector<float> to_host() const;
};

// The encoder's feature of one picture, on the device. Immutable.
class Mast3rFeature {
 public:
  virtual ~Mast3rFeature() = default;
  virtual const Mast3rGrid& grid() const = 0;
  virtual std::uint64_t bytes() const = 0;  // of the device
};

struct Mast3rReference {
  std::shared_ptr<const Mast3rFeature> feature;
  // Where it is described: [n,2], COLMAP pixels of its photo. A place takes the descriptor of the
  // network pixel that it falls into, as the reference's localisation does: the network was trained
  // on pixels' own descriptors, a mixture of neighbours is neither unit nor was it ever matched,
  // and across a patch's edge neighbours are different tokens' guesses.
  std::span<const float> xy;
};

struct Mast3rPairOptions {
  int batch = 8;              // pairs on the device at once
  int token_rows = 0;         // of the descriptors' MLP at once, 16 px each; 0 = all; less memory
  bool query_second = false;  // the query is view 2 and the references view 1
  bool points = false;        // with 3D points; needs a network made with them
};

// 3D points at all pixels, in the frame of view 1's camera (x right, y down, z forward).
struct Mast3rPoints {
  Mast3rRows xyz;         // [pixels, 3]
  Mast3rRows confidence;  // [pixels, 1], above 1
};

struct Mast3rPair {
  Mast3rRows query;                 // [pixels of the query's grid, descriptor size], unit rows
  Mast3rRows query_confidence;      // [pixels, 1], above 0
  Mast3rRows reference;             // [places, descriptor size]; NaN outside the reference's cut
  Mast3rRows reference_confidence;  // [places, 1]; 0 outside
  Mast3rPoints query_points;        // where asked for
  Mast3rPoints reference_points;
};

struct Mast3rOptions {
  NetworkPlacement placement{};       // of encoder and decoders
  Precision heads = Precision::fp32;  // the reference runs them in fp32 always
  bool points = false;                // load the dense heads
};

class Mast3r {
 public:
  using PairSink = std::function<void(std::size_t reference, const Mast3rPair& pair)>;

  // With mast3r_config(weights), or one given. Throws Error(bad_weights) listing what does not fit,
  // OutOfDeviceMemory, DeviceFailure.
  Mast3r(const std::shared_ptr<const TensorSource>& weights, const Mast3rOptions& options);
  Mast3r(const std::shared_ptr<const TensorSource>& weights, const Mast3rConfig& config,
         const Mast3rOptions& options);
  ~Mast3r();

  // RGB, upright. Throws as mast3r_grid, OutOfDeviceMemory, DeviceFailure. Thread-safe, as is
  // everything below.
  std::shared_ptr<const Mast3rFeature> encode(const PictureView& rgb, int long_side = 512) const;
  // In their order; those of equal grid size together, at most `batch` at once.
  std::vector<std::shared_ptr<const Mast3rFeature>> encode(std::span<const PictureView> pictures,
                                                           int long_side, int batch) const;

  // Decodes the query with each reference, those of equal grid size together, and hands each pair
  // to `sink` with the reference's index, each once, in no promised order. A pair's rows live as
  // long as their `keep`. Throws OutOfDeviceMemory, DeviceFailure, and what `sink` throws.
  void pairs(const Mast3rFeature& query, std::span<const Mast3rReference> references,
             const Mast3rPairOptions& options, const PairSink& sink) const;

  const Mast3rConfig& config() const;
  std::string weights_hash() const;
  DeviceKind device() const;

  // On a GPU: encoder and pairs of shapes that come again are launched as recorded graphs
  // (nn/graph_torch.h). To be released when memory is short; `use_graphs` for comparisons.
  ReleasableCache& graphs() const;
  void use_graphs(bool wanted) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace skyfix
