#include "skyfix/models/xfeat/xfeat_net_torch.h"

namespace skyfix::xfeat {
namespace {

constexpr double kEps = 1e-5;
constexpr std::int64_t kStride = 32;
constexpr std::int64_t kCell = 8;

struct LayerShape {
  std::int64_t in, out, kernel, stride;
};

Layers read_layers(const nn::WeightReader& weights, const std::string& block,
                   std::initializer_list<LayerShape> shapes, Normalisation normalisation) {
  Layers layers;
  for (const LayerShape& s : shapes) {
    layers.emplace_back(weights, block + "." + std::to_string(layers.size()) + ".layer",
                        nn::Convolution::Shape{s.in, s.out, s.kernel, s.stride, (s.kernel - 1) / 2},
                        normalisation);
  }
  return layers;
}

at::Tensor run(const Layers& layers, at::Tensor x) {
  for (const Layer& layer : layers) x = layer(x);
  return x;
}

nn::Convolution last_layer(const nn::WeightReader& weights, const std::string& name,
                           std::int64_t out) {
  return {weights, name, {64, out, 1, 1, 0}};
}

// Zero mean, unit variance over the picture.
at::Tensor normalise(const at::Tensor& grey) {
  const auto [variance, mean] = at::var_mean(grey, at::IntArrayRef{}, /*correction=*/0);
  return (grey - mean).mul_((variance + kEps).rsqrt());
}

at::Tensor enlarge_to(const at::Tensor& x, const at::Tensor& like) {
  return at::upsample_bilinear2d(x, like.sizes().slice(2), /*align_corners=*/false);
}

}  // namespace

Layer::Layer(const nn::WeightReader& weights, const std::string& name,
             const nn::Convolution::Shape& shape, Normalisation normalisation)
    : convolution_(weights.in(Precision::fp32), name + ".0", shape, /*with_bias=*/false) {
  const nn::BatchNorm norm(weights, name + ".1", shape.out, nn::BatchNorm::Affine::no);
  const at::ScalarType type = nn::scalar_type(weights.placement().precision);
  if (normalisation == Normalisation::folded) {
    norm.fold_into(convolution_);
    convolution_.bias = convolution_.bias.to(type);
  } else {
    norm_ = norm;
  }
  convolution_.weight = convolution_.weight.to(type).contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor Layer::operator()(const at::Tensor& x) const {
  const at::Tensor y = convolution_(x);
  return (norm_ ? (*norm_)(y) : y).relu_();
}

Net::Net(const nn::WeightReader& weights, Normalisation n)
    : skip_(weights, "skip1.1", {1, 24, 1, 1, 0}),
      block1_(read_layers(weights, "block1",
                          {{1, 4, 3, 1}, {4, 8, 3, 2}, {8, 8, 3, 1}, {8, 24, 3, 2}}, n)),
      block2_(read_layers(weights, "block2", {{24, 24, 3, 1}, {24, 24, 3, 1}}, n)),
      block3_(read_layers(weights, "block3", {{24, 64, 3, 2}, {64, 64, 3, 1}, {64, 64, 1, 1}}, n)),
      block4_(read_layers(weights, "block4", {{64, 64, 3, 2}, {64, 64, 3, 1}, {64, 64, 3, 1}}, n)),
      block5_(read_layers(weights, "block5",
                          {{64, 128, 3, 2}, {128, 128, 3, 1}, {128, 128, 3, 1}, {128, 64, 1, 1}},
                          n)),
      fusion_(read_layers(weights, "block_fusion", {{64, 64, 3, 1}, {64, 64, 3, 1}}, n)),
      heatmap_(read_layers(weights, "heatmap_head", {{64, 64, 1, 1}, {64, 64, 1, 1}}, n)),
      keypoint_(read_layers(weights, "keypoint_head",
                            {{64, 64, 1, 1}, {64, 64, 1, 1}, {64, 64, 1, 1}}, n)),
      fusion_last_(last_layer(weights, "block_fusion.2", 64)),
      heatmap_last_(last_layer(weights, "heatmap_head.2", 1)),
      keypoint_last_(last_layer(weights, "keypoint_head.3", 65)) {}

at::Tensor Net::features(const at::Tensor& x) const {
  const at::Tensor x2 =
      run(block2_, run(block1_, x).add_(skip_(at::avg_pool2d(x, {4, 4}, {4, 4}))));
  const at::Tensor x3 = run(block3_, x2);
  const at::Tensor x4 = run(block4_, x3);
  const at::Tensor x5 = run(block5_, x4);
  const at::Tensor sum = enlarge_to(x4, x3).add_(x3).add_(enlarge_to(x5, x3));
  return fusion_last_(run(fusion_, sum));
}

DenseMaps Net::operator()(const at::Tensor& grey) const {
  const at::Tensor x = normalise(grey).to(skip_.weight.scalar_type());
  DenseMaps maps;
  maps.features = features(x);
  maps.reliability = heatmap_last_(run(heatmap_, maps.features)).sigmoid_();
  const at::Tensor cells = at::pixel_unshuffle(x, kCell).contiguous(at::MemoryFormat::ChannelsLast);
  maps.logits = keypoint_last_(run(keypoint_, cells));
  return maps;
}

at::Tensor network_input(const at::Tensor& picture) {
  // The mean comes first: it and the resize are linear.
  const at::Tensor grey = picture.mean({1}, true);
  const std::int64_t height = picture.size(2) / kStride * kStride;
  const std::int64_t width = picture.size(3) / kStride * kStride;
  if (height == picture.size(2) && width == picture.size(3)) return grey;
  return at::upsample_bilinear2d(grey, {height, width}, /*align_corners=*/false);
}

}  // namespace skyfix::xfeat
