#include <c10/core/InferenceMode.h>

#include <cassert>

#include "skyfix/memory/torch_errors.h"
#include "skyfix/models/lightglue/lightglue.h"
#include "skyfix/models/lightglue/lightglue_net_torch.h"
#include "skyfix/models/sampling_torch.h"

namespace skyfix {
namespace {

using lightglue::Assignment;
using lightglue::Side;

lightglue::Net read_net(const nn::WeightReader& weights, const LightGlueConfig& config) {
  // XFeat's file has the matcher beside a copy of the extractor with other values.
  const bool within = weights.has("matcher.input_proj.weight");
  lightglue::Net net(within ? weights.under("matcher") : weights, config);
  if (within) weights.skip_under("extractor.");
  weights.finish("LightGlue");
  return net;
}

std::vector<LightGlueMatch> mutual_matches(const Assignment& found, const Side& first,
                                           const Side& second, double threshold) {
  const at::Tensor itself = at::arange(first.size(), found.best_of_first.options());
  const at::Tensor mutual = found.best_of_second.index_select(0, found.best_of_first) == itself;
  const at::Tensor kept = at::nonzero(mutual.logical_and(found.score > threshold)).squeeze(1);
  const at::Tensor rows0 = first.rows.index_select(0, kept).cpu();
  const at::Tensor rows1 =
      second.rows.index_select(0, found.best_of_first.index_select(0, kept)).cpu();
  const std::vector<float> scores = models::to_floats(found.score.index_select(0, kept));
  std::vector<LightGlueMatch> matches;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    matches.push_back({std::uint32_t(rows0.const_data_ptr<std::int64_t>()[i]),
                       std::uint32_t(rows1.const_data_ptr<std::int64_t>()[i]), scores[i]});
  }
  return matches;
}

struct PreparedSide final : LightGlue::Prepared {
  Side side;
};

}  // namespace

LightGlueConfig LightGlueConfig::for_aliked() { return {}; }

LightGlueConfig LightGlueConfig::for_xfeat() {
  LightGlueConfig config;
  config.input = 64;
  config.width = 96;
  config.layers = 6;
  config.heads = 1;
  config.threshold_decay = 4.0 / 6;
  config.depth_confidence = -1;
  config.width_confidence = 0.95;
  config.prune_above = -1;  // halves the time of 1,024 points on a CPU
  return config;
}

struct LightGlue::Network {
  lightglue::Net net;
  LightGlueConfig config;
  std::string hash;

  Side side(const LightGlueSide& given) const {
    const auto n = std::int64_t(given.xy.size() / 2);
    assert(given.descriptors.size() == std::size_t(n * config.input));
    const at::Tensor descriptors =
        at::from_blob(const_cast<float*>(given.descriptors.data()), {n, config.input}, at::kFloat)
            .to(net.device());
    // The network counts from the centre of the top-left pixel.
    const at::Tensor xy = models::places_tensor(given.xy, net.device()) - 0.5;
    return net.side(xy, descriptors, given.width, given.height);
  }
};

LightGlue::LightGlue(std::shared_ptr<const TensorSource> weights, const LightGlueConfig& config,
                     const NetworkPlacement& placement) {
  network_ = with_torch_errors(0, [&] {
    return std::make_unique<Network>(Network{read_net(nn::WeightReader(weights, placement), config),
                                             config, weights_identity(*weights)});
  });
}

LightGlue::~LightGlue() = default;

std::vector<LightGlueMatch> LightGlue::match(const LightGlueSide& first,
                                             const LightGlueSide& second) const {
  if (first.xy.empty() || second.xy.empty()) return {};
  return match(*prepare(first), *prepare(second));
}

std::unique_ptr<const LightGlue::Prepared> LightGlue::prepare(const LightGlueSide& given) const {
  const c10::InferenceMode inference;
  return with_torch_errors(0, [&] {
    auto prepared = std::make_unique<PreparedSide>();
    prepared->side = network_->side(given);
    if (prepared->side.size() > 0) network_->net.run_self(0, prepared->side);
    return prepared;
  });
}

std::vector<LightGlueMatch> LightGlue::match(const Prepared& first, const Prepared& second) const {
  const c10::InferenceMode inference;
  return with_torch_errors(0, [&]() -> std::vector<LightGlueMatch> {
    // Copies of tensors that are replaced, not written to.
    Side side0 = dynamic_cast<const PreparedSide&>(first).side;
    Side side1 = dynamic_cast<const PreparedSide&>(second).side;
    if (side0.size() == 0 || side1.size() == 0) return {};
    const int layers = lightglue::run_layers(network_->net, network_->config, side0, side1);
    if (side0.size() == 0 || side1.size() == 0) return {};
    const Assignment found = network_->net.assign(layers - 1, side0, side1);
    return mutual_matches(found, side0, side1, network_->config.filter_threshold);
  });
}

const LightGlueConfig& LightGlue::config() const { return network_->config; }

std::string LightGlue::weights_hash() const { return network_->hash; }

}  // namespace skyfix
