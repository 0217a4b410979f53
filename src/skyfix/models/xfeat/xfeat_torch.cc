// XFeat as a LocalNetwork: keypoints and descriptors from its dense maps (xfeat.md, sections 3
// and 8).
#include <c10/core/InferenceMode.h>

#include <cassert>
#include <utility>

#include "skyfix/memory/torch_errors.h"
#include "skyfix/models/local_network.h"
#include "skyfix/models/sampling_torch.h"
#include "skyfix/models/xfeat/xfeat_net_torch.h"
#include "skyfix/nn/picture_torch.h"

namespace skyfix {
namespace {

using models::FeatureTable;

constexpr double kThreshold = 0.05;  // of a keypoint's probability
constexpr std::int64_t kCell = 8;

// "Network pixels" have integer centres and belong to the resized picture.
struct XFeatMaps final : LocalNetwork::Maps {
  FeatureTable features;     // unit rows
  FeatureTable reliability;  // one channel
  at::Tensor heatmap;  // fp32 [height, width]: probability of a keypoint at each network pixel
  std::int64_t height = 0, width = 0;  // network pixels
  double scale_x = 1, scale_y = 1;     // picture pixels per network pixel

  // Where the reference reads a map of `cells` for a network pixel: align_corners false over a grid
  // made for align_corners true.
  static at::Tensor cell_of(const at::Tensor& pixel, std::int64_t cells, std::int64_t pixels) {
    return pixel * (double(cells) / double(pixels - 1)) - 0.5;
  }
  at::Tensor cell_x(const at::Tensor& x) const { return cell_of(x, features.width, width); }
  at::Tensor cell_y(const at::Tensor& y) const { return cell_of(y, features.height, height); }

  at::Tensor describe(const at::Tensor& x, const at::Tensor& y) const {
    return models::unit_rows(models::sample_bicubic(features, cell_x(x), cell_y(y)));
  }
};

struct Keypoints {
  at::Tensor cells;   // raster index of the network pixel
  at::Tensor scores;  // falling
};

// Pixels that are the maximum of their 5x5 window, in raster order.
at::Tensor local_maxima(const at::Tensor& heatmap) {
  const at::Tensor highest = heatmap == models::window_maximum(heatmap);
  return at::nonzero(highest.logical_and_(heatmap > kThreshold).flatten()).squeeze(1);
}

// The reference's nearest sample reads outside the map for the last column and row.
at::Tensor scores_at(const XFeatMaps& maps, const at::Tensor& cells) {
  const at::Tensor x = cells.remainder(maps.width), y = cells.div(maps.width, "floor");
  const at::Tensor usable = (x < maps.width - 1).logical_and_(y < maps.height - 1);
  const at::Tensor reliability = models::sample_bilinear(
      maps.reliability, maps.cell_x(x.to(at::kFloat)), maps.cell_y(y.to(at::kFloat)));
  return maps.heatmap.flatten().index_select(0, cells) * reliability.squeeze(1) * usable;
}

Keypoints strongest(const XFeatMaps& maps, int most) {
  at::Tensor cells = local_maxima(maps.heatmap);
  at::Tensor scores = scores_at(maps, cells);
  const at::Tensor kept = (scores > 0).logical_and_(cells > 0);
  cells = cells.masked_select(kept);
  scores = scores.masked_select(kept);
  auto [sorted, order] = at::sort(scores, /*stable=*/true, 0, /*descending=*/true);
  if (most > 0 && order.size(0) > most) {
    order = order.narrow(0, 0, most);
    sorted = sorted.narrow(0, 0, most);
  }
  return {cells.index_select(0, order), sorted};
}

// From a pixel to the centroid of the probabilities in its window: x, y.
std::pair<at::Tensor, at::Tensor> centroid_offsets(const at::Tensor& heatmap,
                                                   const at::Tensor& cells) {
  const at::Tensor weights = models::windows_of_5(heatmap, cells);
  const at::Tensor sum = weights.sum(1);
  const auto [x, y] = models::window_offsets(weights);
  return {at::mv(weights, x).div_(sum), at::mv(weights, y).div_(sum)};
}

class XFeat final : public LocalNetwork {
 public:
  XFeat(const nn::WeightReader& weights, std::string hash)
      : net_(weights), hash_(std::move(hash)), device_(weights.placement().device) {}

  std::string_view kind() const override { return "xfeat"; }
  int dimension() const override { return 64; }
  std::string weights_hash() const override { return hash_; }

  std::unique_ptr<Maps> maps(const PictureView& picture) const override {
    models::check_size(picture);
    const c10::InferenceMode inference;
    return with_torch_errors(0, [&] {
      const at::Tensor input = xfeat::network_input(nn::picture_tensor(picture, device_));
      const xfeat::DenseMaps dense = net_(input);
      auto maps = std::make_unique<XFeatMaps>();
      maps->features = models::feature_table(dense.features);
      maps->features.rows = models::unit_rows(maps->features.rows);
      maps->reliability = models::feature_table(dense.reliability);
      const at::Tensor probabilities = dense.logits.to(at::kFloat).softmax(1).narrow(1, 0, 64);
      maps->heatmap = at::pixel_shuffle(probabilities, kCell).squeeze(0).squeeze(0);
      maps->height = input.size(2);
      maps->width = input.size(3);
      maps->scale_x = double(picture.width) / double(maps->width);
      maps->scale_y = double(picture.height) / double(maps->height);
      return maps;
    });
  }

  NetworkFeatures detect(const Maps& opaque, const DetectOptions& options) const override {
    const auto& maps = dynamic_cast<const XFeatMaps&>(opaque);
    const c10::InferenceMode inference;
    return with_torch_errors(0, [&] {
      const Keypoints found = strongest(maps, options.max_features);
      at::Tensor x = found.cells.remainder(maps.width).to(at::kFloat);
      at::Tensor y = found.cells.div(maps.width, "floor").to(at::kFloat);
      NetworkFeatures features{
          dimension(), {}, models::to_floats(found.scores), models::to_floats(maps.describe(x, y))};
      if (options.subpixel) {
        const auto [dx, dy] = centroid_offsets(maps.heatmap, found.cells);
        x = x + dx;
        y = y + dy;
      }
      features.xy =
          models::to_floats(at::stack({(x + 0.5) * maps.scale_x, (y + 0.5) * maps.scale_y}, 1));
      return features;
    });
  }

  std::vector<float> describe(const Maps& opaque, std::span<const float> xy) const override {
    const auto& maps = dynamic_cast<const XFeatMaps&>(opaque);
    const c10::InferenceMode inference;
    return with_torch_errors(0, [&] {
      const at::Tensor places = models::places_tensor(xy, net_.device());
      return models::to_floats(maps.describe(places.select(1, 0) / maps.scale_x - 0.5,
                                             places.select(1, 1) / maps.scale_y - 0.5));
    });
  }

 private:
  xfeat::Net net_;
  std::string hash_;
  DeviceKind device_;
};

}  // namespace

std::unique_ptr<LocalNetwork> make_xfeat(std::shared_ptr<const TensorSource> weights,
                                         const NetworkPlacement& placement) {
  return with_torch_errors(0, [&] {
    const nn::WeightReader reader(weights, placement);
    auto network = std::make_unique<XFeat>(reader, weights_identity(*weights));
    reader.skip_under("fine_matcher.");  // of the semi-dense mode, which is not offered
    reader.finish("XFeat");
    return network;
  });
}

}  // namespace skyfix
