#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "skyfix/memory/owner_scope.h"
#include "skyfix/memory/torch_errors.h"
#include "skyfix/models/mast3r/mast3r.h"
#include "skyfix/models/mast3r/mast3r_network_torch.h"
#include "skyfix/nn/graph_torch.h"

namespace skyfix {
namespace {

using mast3r::Descriptors;
using mast3r::Encoded;
using mast3r::KeptStates;
using mast3r::Network;
using mast3r::TokenGrid;
using mast3r::ViewStates;

constexpr std::string_view kOwner = "mast3r";  // in the ledger

class EncodedFeature : public Mast3rFeature {
 public:
  EncodedFeature(const Mast3rGrid& grid, Encoded encoded)
      : grid_(grid), encoded_(std::move(encoded)) {}
  const Mast3rGrid& grid() const override { return grid_; }
  std::uint64_t bytes() const override { return encoded_.feature.nbytes(); }
  const Encoded& encoded() const { return encoded_; }  // B = 1

 private:
  Mast3rGrid grid_;
  Encoded encoded_;
};

const Encoded& encoded_of(const Mast3rFeature& feature) {
  return static_cast<const EncodedFeature&>(feature).encoded();
}

// [..., columns] in fp32.
Mast3rRows as_rows(const at::Tensor& values, int columns) {
  const auto kept = std::make_shared<at::Tensor>(values.reshape({-1, columns}));
  return {kept->data_ptr<float>(), kept->size(0), columns,
          kept->is_cuda() ? DeviceKind::cuda : DeviceKind::cpu, kept};
}

// Indices of those of equal network size, in runs of at most `batch`.
std::vector<std::vector<std::size_t>> equal_sizes(std::span<const Mast3rGrid> grids, int batch) {
  std::map<std::pair<int, int>, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    by_size[{grids[i].height, grids[i].width}].push_back(i);
  }
  std::vector<std::vector<std::size_t>> runs;
  for (const auto& [size, indices] : by_size) {
    for (std::size_t first = 0; first < indices.size(); first += batch) {
      const std::size_t end = std::min(indices.size(), first + batch);
      runs.emplace_back(indices.begin() + first, indices.begin() + end);
    }
  }
  return runs;
}

// Row-major pixels of a batch of references, -1 outside, one after the other.
std::vector<std::int64_t> wanted_pixels(std::span<const Mast3rReference> references,
                                        const std::vector<std::size_t>& run) {
  std::vector<std::int64_t> pixels;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Mast3rReference& reference = references[run[i]];
    const Mast3rGrid& grid = reference.feature->grid();
    for (std::size_t k = 0; k + 1 < reference.xy.size(); k += 2) {
      const std::int64_t pixel = grid.pixel_at({reference.xy[k], reference.xy[k + 1]});
      pixels.push_back(pixel < 0 ? -1 : static_cast<std::int64_t>(i) * grid.pixels() + pixel);
    }
  }
  return pixels;
}

Mast3rPoints points_of(const mast3r::Points& points, std::int64_t i) {
  return {as_rows(points.xyz.select(0, i), 3), as_rows(points.confidence.select(0, i), 1)};
}

std::string grid_name(const TokenGrid& grid) {
  return std::to_string(grid.rows) + "x" + std::to_string(grid.columns);
}

// What a region of encode() or pairs() gives, by index.
enum PairOutput : std::size_t { kRows, kConfidence, kHidden, kPoints };

// One batch of pairs: the query against references of one size.
class PairBatch {
 public:
  PairBatch(const Network& network, nn::GraphRegions& graphs, const Mast3rFeature& query,
            std::span<const Mast3rReference> references, const std::vector<std::size_t>& run,
            const Mast3rPairOptions& options)
      : network_(network),
        references_(references),
        run_(run),
        options_(options),
        query_view_(options.query_second ? 1 : 0),
        query_grid_(encoded_of(query).grid),
        reference_grid_(encoded_of(*references[run[0]].feature).grid) {
    network.prepare(query_grid_);
    network.prepare(reference_grid_);
    graphs.run(
        region_name(), {encoded_of(query).feature, gathered()},
        [this](const std::vector<at::Tensor>& inputs) { return outputs_of(inputs[0], inputs[1]); },
        [this](const nn::RegionOutputs& outputs) { take(outputs); });
  }

  void hand_out(const Mast3r::PairSink& sink) const {
    const int size = network_.config().descriptor_size;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < run_.size(); ++i) {
      const auto places = static_cast<std::int64_t>(references_[run_[i]].xy.size() / 2);
      const auto row = static_cast<std::int64_t>(i);
      Mast3rPair pair{as_rows(query_.rows.select(0, row), size),
                      as_rows(query_.confidence.select(0, row), 1),
                      as_rows(reference_.rows.narrow(0, first, places), size),
                      as_rows(reference_.confidence.narrow(0, first, places), 1),
                      {},
                      {}};
      if (options_.points) {
        pair.query_points = points_of(query_points_, row);
        pair.reference_points = points_of(reference_points_, row);
      }
      sink(run_[i], pair);
      first += places;
    }
  }

 private:
  at::Tensor gathered() const {
    std::vector<at::Tensor> features;
    for (const std::size_t i : run_) {
      features.push_back(encoded_of(*references_[i].feature).feature);
    }
    return features.size() == 1 ? features[0] : at::cat(features, 0);
  }

  std::string region_name() const {
    return "pairs " + grid_name(query_grid_) + " " + grid_name(reference_grid_) +
           (query_view_ == 0 ? "" : " swapped") + (options_.points ? " points" : "") + " " +
           std::to_string(options_.token_rows);
  }

  // All that depends on nothing but the features: PairOutput, with the points of both behind.
  std::vector<at::Tensor> outputs_of(const at::Tensor& query, const at::Tensor& references) const {
    std::array<Encoded, 2> inputs;
    inputs[query_view_] = {query, query_grid_};
    inputs[1 - query_view_] = {references, reference_grid_};
    const auto views = network_.decode(inputs[0], inputs[1],
                                       options_.points ? KeptStates::hooks : KeptStates::ends);
    const ViewStates& asking = views[query_view_];
    const ViewStates& answering = views[1 - query_view_];
    const Descriptors rows = network_.descriptors(query_view_)(
        asking.entries.front(), asking.entries.back(), asking.grid, options_.token_rows);
    std::vector<at::Tensor> outputs{
        rows.rows, rows.confidence,
        network_.descriptors(1 - query_view_)
            .hidden(answering.entries.front(), answering.entries.back())};
    if (!options_.points) return outputs;
    assert(network_.points(0) != nullptr);
    const std::array<int, 4> hooks = network_.config().hooks();
    for (const int view : {query_view_, 1 - query_view_}) {
      const mast3r::Points points =
          (*network_.points(view))(views[view].at(hooks), views[view].grid);
      outputs.insert(outputs.end(), {points.xyz, points.confidence});
    }
    return outputs;
  }

  void take(const nn::RegionOutputs& outputs) {
    query_ = {outputs.keep(kRows), outputs.keep(kConfidence)};
    reference_ =
        network_.descriptors(1 - query_view_)
            .at_pixels(outputs[kHidden], reference_grid_, wanted_pixels(references_, run_));
    if (!options_.points) return;
    query_points_ = {outputs.keep(kPoints), outputs.keep(kPoints + 1)};
    reference_points_ = {outputs.keep(kPoints + 2), outputs.keep(kPoints + 3)};
  }

  const Network& network_;
  std::span<const Mast3rReference> references_;
  const std::vector<std::size_t>& run_;
  const Mast3rPairOptions& options_;
  int query_view_;
  TokenGrid query_grid_, reference_grid_;
  Descriptors query_, reference_;  // [B, H, W, ...], [places of all, ...]
  mast3r::Points query_points_, reference_points_;
};

}  // namespace

std::vector<float> Mast3rRows::to_host() const {
  return with_torch_errors(0, [&] {
    std::vector<float> values(rows * columns);
    const at::Device place(device == DeviceKind::cuda ? at::kCUDA : at::kCPU);
    at::from_blob(values.data(), {rows, columns}, at::kFloat)
        .copy_(at::from_blob(const_cast<float*>(data), {rows, columns},
                             at::dtype(at::kFloat).device(place)));
    return values;
  });
}

struct Mast3r::State {
  Network network;
  DeviceKind device;
  std::string hash;
  mutable nn::GraphRegions graphs{};

  Encoded encode(const at::Tensor& pictures) const {
    const TokenGrid grid{pictures.size(2) / network.config().patch,
                         pictures.size(3) / network.config().patch};
    network.prepare(grid);
    Encoded encoded{{}, grid};
    graphs.run(
        "encode", {pictures},
        [&](const std::vector<at::Tensor>& inputs) {
          return std::vector<at::Tensor>{network.encode(inputs[0]).feature};
        },
        [&](const nn::RegionOutputs& outputs) { encoded.feature = outputs.keep(0); });
    return encoded;
  }
};

Mast3r::Mast3r(const std::shared_ptr<const TensorSource>& weights, const Mast3rOptions& options)
    : Mast3r(weights, mast3r_config(*weights), options) {}

Mast3r::Mast3r(const std::shared_ptr<const TensorSource>& weights, const Mast3rConfig& config,
               const Mast3rOptions& options)
    : state_(with_torch_errors(0, [&] {
        const c10::InferenceMode inference;
        const OwnerScope owner(kOwner);
        return std::unique_ptr<const State>(
            new State{Network(weights, config, options.placement, options.heads, options.points),
                      options.placement.device, weights_identity(*weights)});
      })) {}

Mast3r::~Mast3r() = default;

std::shared_ptr<const Mast3rFeature> Mast3r::encode(const PictureView& rgb, int long_side) const {
  return encode({&rgb, 1}, long_side, 1)[0];
}

std::vector<std::shared_ptr<const Mast3rFeature>> Mast3r::encode(
    std::span<const PictureView> pictures, int long_side, int batch) const {
  std::vector<Mast3rGrid> grids;
  for (const PictureView& picture : pictures) {
    grids.push_back(mast3r_grid(picture.width, picture.height, long_side));
  }
  std::vector<std::shared_ptr<const Mast3rFeature>> features(pictures.size());
  with_torch_errors(0, [&] {
    const c10::InferenceMode inference;
    const at::NoTF32Guard full_precision;
    const OwnerScope owner(kOwner);
    for (const std::vector<std::size_t>& run : equal_sizes(grids, std::max(batch, 1))) {
      std::vector<at::Tensor> inputs;
      for (const std::size_t i : run) {
        const BytePicture input = mast3r_picture(pictures[i], grids[i]);
        inputs.push_back(mast3r::picture_input(input.view(), state_->device));
      }
      const Encoded encoded = state_->encode(at::cat(inputs, 0));
      for (std::size_t k = 0; k < run.size(); ++k) {
        // A copy: a part would keep the whole batch in memory.
        at::Tensor own = encoded.feature.narrow(0, static_cast<std::int64_t>(k), 1);
        if (run.size() > 1) own = own.clone();
        features[run[k]] =
            std::make_shared<EncodedFeature>(grids[run[k]], Encoded{own, encoded.grid});
      }
    }
  });
  return features;
}

void Mast3r::pairs(const Mast3rFeature& query, std::span<const Mast3rReference> references,
                   const Mast3rPairOptions& options, const PairSink& sink) const {
  std::vector<Mast3rGrid> grids;
  for (const Mast3rReference& reference : references) grids.push_back(reference.feature->grid());
  for (const std::vector<std::size_t>& run : equal_sizes(grids, std::max(options.batch, 1))) {
    with_torch_errors(0, [&] {
      const c10::InferenceMode inference;
      const at::NoTF32Guard full_precision;
      const OwnerScope owner(kOwner);
      const PairBatch batch(state_->network, state_->graphs, query, references, run, options);
      batch.hand_out(sink);
    });
  }
}

const Mast3rConfig& Mast3r::config() const { return state_->network.config(); }

std::string Mast3r::weights_hash() const { return state_->hash; }

DeviceKind Mast3r::device() const { return state_->device; }

ReleasableCache& Mast3r::graphs() const { return state_->graphs; }
void Mast3r::use_graphs(bool wanted) const { state_->graphs.enable(wanted); }

}  // namespace skyfix
