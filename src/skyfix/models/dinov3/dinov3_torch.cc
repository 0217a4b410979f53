#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/memory/owner_scope.h"
#include "skyfix/memory/torch_errors.h"
#include "skyfix/models/dinov3/dinov3_network_torch.h"
#include "skyfix/nn/graph_torch.h"
#include "skyfix/nn/picture_torch.h"

namespace skyfix {
namespace {

constexpr double kSmallestNorm = 1e-12;
constexpr std::string_view kOwner = "dinov3";  // in the ledger

struct ColourStatistics {
  std::array<double, 3> mean;
  std::array<double, 3> deviation;
};

constexpr ColourStatistics statistics(DinoV3Colours colours) {
  if (colours == DinoV3Colours::satellite) return {{0.430, 0.411, 0.296}, {0.213, 0.156, 0.143}};
  return {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
}

constexpr std::array<std::string_view, 4> kFacetNames{"token", "query", "key", "value"};
constexpr std::array<std::string_view, 2> kColoursNames{"web", "satellite"};

template <class Enum, std::size_t N>
std::optional<Enum> enum_named(const std::array<std::string_view, N>& names,
                               std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return Enum(found - names.begin());
}

std::string metadata_of(const TensorSource& source, const std::string& key) {
  const auto found = source.metadata().find(key);
  return found == source.metadata().end() ? std::string() : found->second;
}

DinoV3Colours colours_of(const TensorSource& source) {
  const bool satellite = metadata_of(source, "model").ends_with("-sat") ||
                         source.find("local_cls_norm.weight") != nullptr;
  return satellite ? DinoV3Colours::satellite : DinoV3Colours::web;
}

}  // namespace

std::string_view dinov3_facet_name(DinoV3Facet facet) { return kFacetNames.at(std::size_t(facet)); }
std::optional<DinoV3Facet> dinov3_facet(std::string_view name) {
  return enum_named<DinoV3Facet>(kFacetNames, name);
}
std::string_view dinov3_colours_name(DinoV3Colours colours) {
  return kColoursNames.at(std::size_t(colours));
}
std::optional<DinoV3Colours> dinov3_colours(std::string_view name) {
  return enum_named<DinoV3Colours>(kColoursNames, name);
}

PatchGrid dinov3_grid(int width_px, int height_px, int long_side_px, int patch_px) {
  const double scale = std::min(1.0, double(long_side_px) / std::max(width_px, height_px));
  const auto patches = [&](int side_px) {
    return std::max(1, int(std::nearbyint(side_px * scale / patch_px)));
  };
  return {patches(height_px), patches(width_px)};
}

at::Tensor dinov3_input(const PictureView& picture, const PatchGrid& grid, int patch_px,
                        DinoV3Colours colours, DeviceKind device) {
  const std::int64_t height = grid.rows * patch_px, width = grid.columns * patch_px;
  const at::Tensor resized =
      at::_upsample_bilinear2d_aa(nn::picture_tensor(picture, device), {height, width}, false);
  // Channel by channel: a table of constants would have to be sent to the device each time.
  const ColourStatistics by = statistics(colours);
  at::Tensor input = at::empty({1, 3, height, width}, resized.options());
  for (int c = 0; c < 3; ++c) {
    at::Tensor channel = input.select(1, c);
    at::sub_out(channel, resized.select(1, picture.channels == 1 ? 0 : c), at::Scalar(by.mean[c]));
    channel.div_(by.deviation[c]);
  }
  return input;
}

struct DinoV3::Parts {
  DinoV3Network network;
  NetworkPlacement placement;
  DinoV3Colours colours;
  std::string weights_hash;
  mutable nn::GraphRegions graphs{};

  // fp32 unit rows [patches, width] of a normalised picture [1,3,H,W].
  at::Tensor unit_rows(const at::Tensor& input, std::size_t layer, DinoV3Facet facet) const {
    at::Tensor unit;
    graphs.run(
        "patches " + std::to_string(layer) + " " + std::string(dinov3_facet_name(facet)), {input},
        [&](const std::vector<at::Tensor>& inputs) {
          const at::Tensor rows = network.patches(inputs[0], layer, facet)[0].to(at::kFloat);
          const at::Tensor norms = at::linalg_vector_norm(rows, 2, at::IntArrayRef{-1}, true);
          return std::vector<at::Tensor>{rows / norms.clamp_min(kSmallestNorm)};
        },
        // To host memory at once: no copy on the device is needed.
        [&](const nn::RegionOutputs& outputs) { unit = outputs[0].to(at::kCPU).contiguous(); });
    return unit;
  }
};

DinoV3::DinoV3(std::shared_ptr<const TensorSource> weights, const NetworkPlacement& placement,
               const DinoV3Options& options) {
  const c10::InferenceMode no_gradients;
  const OwnerScope owner(kOwner);
  with_torch_errors(0, [&] {
    const DinoV3Config config = dinov3_config_of(*weights, options.config);
    const nn::WeightReader reader(weights, placement);
    DinoV3Network network(reader, DinoV3Names(*weights), config);
    reader.finish("DINOv3");
    const DinoV3Colours colours = options.colours.value_or(colours_of(*weights));
    parts_.reset(new Parts{std::move(network), placement, colours, weights_identity(*weights)});
  });
}

DinoV3::~DinoV3() = default;

const DinoV3Config& DinoV3::config() const { return parts_->network.config(); }
DinoV3Colours DinoV3::colours() const { return parts_->colours; }
std::string DinoV3::model() const {
  return config().model() + (colours() == DinoV3Colours::satellite ? "-sat" : "");
}
const std::string& DinoV3::weights_hash() const { return parts_->weights_hash; }
const NetworkPlacement& DinoV3::placement() const { return parts_->placement; }
ReleasableCache& DinoV3::graphs() const { return parts_->graphs; }
void DinoV3::use_graphs(bool wanted) const { parts_->graphs.enable(wanted); }

PatchVectors DinoV3::patches(const PictureView& picture, int layer, DinoV3Facet facet,
                             int long_side_px) const {
  const int blocks = config().blocks;
  if (layer < 0 || layer >= blocks) {
    throw Error(Reason::bad_option, config().model() + " has the layers 0 to " +
                                        std::to_string(blocks - 1) + ", not " +
                                        std::to_string(layer));
  }
  const int patch_px = config().patch_px;
  PatchVectors made;
  made.grid = dinov3_grid(picture.width, picture.height, long_side_px, patch_px);
  made.dimension = config().width;
  const c10::InferenceMode no_gradients;
  const at::NoTF32Guard full_precision;
  const OwnerScope owner(kOwner);
  with_torch_errors(0, [&] {
    const at::Tensor input =
        dinov3_input(picture, made.grid, patch_px, colours(), parts_->placement.device);
    const at::Tensor unit = parts_->unit_rows(input, std::size_t(layer), facet);
    made.values.assign(unit.data_ptr<float>(), unit.data_ptr<float>() + unit.numel());
  });
  return made;
}

}  // namespace skyfix
