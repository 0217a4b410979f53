// ALIKED as a LocalNetwork.
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "skyfix/memory/torch_errors.h"
#include "skyfix/models/aliked/aliked_net_torch.h"
#include "skyfix/models/aliked/keypoints_torch.h"
#include "skyfix/models/local_network.h"
#include "skyfix/models/sampling_torch.h"
#include "skyfix/nn/picture_torch.h"

namespace skyfix {
namespace {

struct AlikedMaps final : LocalNetwork::Maps {
  aliked::DenseMaps dense;
  bool of_one_colour = false;
};

// Ends at the first difference, so it costs nothing for photographs.
bool of_one_colour(const PictureView& picture) {
  const std::size_t samples =
      std::size_t(picture.width) * std::size_t(picture.height) * std::size_t(picture.channels);
  return std::equal(picture.pixels + picture.channels, picture.pixels + samples, picture.pixels);
}

class Aliked final : public LocalNetwork {
 public:
  Aliked(const nn::WeightReader& weights, const aliked::Config& config, std::string hash)
      : net_(weights, config), hash_(std::move(hash)), device_(weights.placement().device) {}

  std::string_view kind() const override { return "aliked"; }
  int dimension() const override { return int(net_.config().dimension); }
  std::string weights_hash() const override { return hash_; }

  std::unique_ptr<Maps> maps(const PictureView& picture) const override {
    models::check_size(picture);
    const c10::InferenceMode inference;
    return with_torch_errors(0, [&] {
      const at::Tensor input = nn::picture_tensor(picture, device_);
      auto maps = std::make_unique<AlikedMaps>();
      maps->of_one_colour = of_one_colour(picture);
      maps->dense = net_.maps(input.expand({1, 3, input.size(2), input.size(3)}));
      return maps;
    });
  }

  NetworkFeatures detect(const Maps& opaque, const DetectOptions& options) const override {
    const auto& given = dynamic_cast<const AlikedMaps&>(opaque);
    const aliked::DenseMaps& maps = given.dense;
    // With no score above the threshold the reference takes what is above the mean: the borders.
    if (given.of_one_colour) return {dimension(), {}, {}, {}};
    const c10::InferenceMode inference;
    return with_torch_errors(0, [&] {
      aliked::Selection selection;
      selection.most = options.max_features;
      const aliked::Keypoints found = aliked::find_keypoints(maps.scores, selection);
      return NetworkFeatures{dimension(), models::to_floats(found.places + 0.5),
                             models::to_floats(found.scores),
                             models::to_floats(net_.describe(maps, found.places))};
    });
  }

  std::vector<float> describe(const Maps& opaque, std::span<const float> xy) const override {
    const aliked::DenseMaps& maps = dynamic_cast<const AlikedMaps&>(opaque).dense;
    const c10::InferenceMode inference;
    return with_torch_errors(0, [&] {
      const at::Tensor size = at::tensor({float(maps.width), float(maps.height)}).to(net_.device());
      const at::Tensor given = models::places_tensor(xy, net_.device());
      const at::Tensor within = (given >= 0).logical_and_(given <= size).all(1, true);
      const at::Tensor places = at::where(within, given, size / 2) - 0.5;
      return models::to_floats(net_.describe(maps, places) * within);
    });
  }

 private:
  aliked::Net net_;
  std::string hash_;
  DeviceKind device_;
};

}  // namespace

std::unique_ptr<LocalNetwork> make_aliked(std::shared_ptr<const TensorSource> weights,
                                          const NetworkPlacement& placement) {
  return with_torch_errors(0, [&] {
    const nn::WeightReader reader(weights, placement);
    auto network =
        std::make_unique<Aliked>(reader, aliked::Config::of(*weights), weights_identity(*weights));
    reader.finish("ALIKED");
    return network;
  });
}

}  // namespace skyfix
