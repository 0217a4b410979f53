#include <c10/core/InferenceMode.h>

#include "bench/twin_stages.h"
#include "skyfix/models/lightglue/lightglue_net_torch.h"
#include "skyfix/models/local_network.h"
#include "skyfix/models/sampling_torch.h"
#include "skyfix/models/xfeat/xfeat_net_torch.h"
#include "skyfix/nn/picture_torch.h"

namespace skyfix::bench {
namespace {

lightglue::Side side_of(const lightglue::Net& net, const LightGlueSide& given, int input) {
  const at::Tensor xy = models::places_tensor(given.xy, at::kCPU) - 0.5;
  const at::Tensor descriptors =
      at::from_blob(const_cast<float*>(given.descriptors.data()), {xy.size(0), input}, at::kFloat);
  return net.side(xy, descriptors, given.width, given.height);
}

Seconds difference(const Seconds& a, const Seconds& b) { return {a.wall - b.wall, a.cpu - b.cpu}; }

lightglue::Net read_lighterglue(std::shared_ptr<const TensorSource> weights) {
  return {nn::WeightReader(std::move(weights), {}).under("matcher"), LightGlueConfig::for_xfeat()};
}

}  // namespace

struct TwinStages::Networks {
  std::unique_ptr<LocalNetwork> whole;
  xfeat::Net xfeat;
  lightglue::Net lighterglue;
};

TwinStages::TwinStages(std::shared_ptr<const TensorSource> xfeat,
                       std::shared_ptr<const TensorSource> lighterglue)
    : networks_(new Networks{make_xfeat(xfeat, {}), xfeat::Net(nn::WeightReader(xfeat, {})),
                             read_lighterglue(std::move(lighterglue))}) {}

TwinStages::~TwinStages() = default;

Stages TwinStages::features(const PictureView& picture, int most) const {
  const c10::InferenceMode inference;
  const xfeat::Net& net = networks_->xfeat;
  at::Tensor grey, x, map;
  xfeat::DenseMaps dense;
  std::unique_ptr<LocalNetwork::Maps> maps;
  NetworkFeatures found;
  const Seconds input = seconds_of([&] {
    grey = xfeat::network_input(nn::picture_tensor(picture, DeviceKind::cpu));
    x = net.normalised(grey);
  });
  const Seconds backbone = seconds_of([&] { map = net.features(x); });
  const Seconds heads = seconds_of([&] { dense = net.heads(x, map); });
  const Seconds all_maps = seconds_of([&] { maps = networks_->whole->maps(picture); });
  const Seconds detect =
      seconds_of([&] { found = networks_->whole->detect(*maps, {.max_features = most}); });
  const Seconds sampling = seconds_of([&] { networks_->whole->describe(*maps, found.xy); });
  return {{"features: grey, normalised", input},
          {"features: backbone", backbone},
          {"features: heads", heads},
          {"features: softmax, unit rows",
           difference(difference(difference(all_maps, input), backbone), heads)},
          {"features: keypoints, top-k", difference(detect, sampling)},
          {"features: descriptors sampled", sampling}};
}

Stages TwinStages::matching(const LightGlueSide& first, const LightGlueSide& second) const {
  const c10::InferenceMode inference;
  const LightGlueConfig config = LightGlueConfig::for_xfeat();
  const lightglue::Net& net = networks_->lighterglue;
  lightglue::Side side0, side1;
  int layers = 0;
  const Seconds input = seconds_of([&] {
    side0 = side_of(net, first, config.input);
    side1 = side_of(net, second, config.input);
  });
  const Seconds self0 = seconds_of([&] { net.run_self(0, side0); });
  const Seconds self1 = seconds_of([&] { net.run_self(0, side1); });
  lightglue::Side copy0 = side0, copy1 = side1;
  const Seconds cross = seconds_of([&] { net.run_cross(0, copy0, copy1); });
  const Seconds all_layers =
      seconds_of([&] { layers = lightglue::run_layers(net, config, side0, side1); });
  const Seconds assignment = seconds_of([&] { net.assign(layers - 1, side0, side1); });
  return {{"matching: positions, input", input},
          {"matching: first self-attention, photo", self0},
          {"matching: first self-attention, map photo", self1},
          {"matching: the other layers, fewer points in each", all_layers},
          {"  of which the first cross-attention", cross},
          {"matching: assignment", assignment}};
}

}  // namespace skyfix::bench
