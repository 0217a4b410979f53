#include "skyfix/models/xfeat/xfeat_net_torch.h"

#include <cstdlib>

namespace skyfix::xfeat {
namespace {

constexpr double kEps = 1e-5;
constexpr std::int64_t kStride = 32;
constexpr std::int64_t kCell = 8;

struct LayerShape {
  std::int64_t in, out, kernel, stride;
};

// The 3x3 weights [out, 1, 3, 3] for blocks of 2x2 pixels: [4 out, 4, 3, 3]. From pixel (a, b) of
// a block to pixel (c, d) of the block r - 1 further down it is 2 (r - 1) + c - a rows.
at::Tensor on_blocks(const at::Tensor& weight) {
  at::Tensor blocks = weight.new_zeros({weight.size(0), 2, 2, 2, 2, 3, 3});  // out,a,b,c,d,r,s
  for (int place = 0; place < 16 * 9; ++place) {
    const int a = place & 1, b = place >> 1 & 1, c = place >> 2 & 1, d = place >> 3 & 1;
    const int r = place / 16 / 3, s = place / 16 % 3;
    const int dy = 2 * (r - 1) + c - a, dx = 2 * (s - 1) + d - b;
    if (std::abs(dy) > 1 || std::abs(dx) > 1) continue;
    using at::indexing::Slice;
    blocks.index_put_({Slice(), a, b, c, d, r, s}, weight.index({Slice(), 0, dy + 1, dx + 1}));
  }
  return blocks.flatten(3, 4).flatten(0, 2);
}

Layers read_layers(const nn::WeightReader& weights, const std::string& block,
                   std::initializer_list<LayerShape> shapes, Form form) {
  Layers layers;
  for (const LayerShape& s : shapes) {
    layers.emplace_back(weights, block + "." + std::to_string(layers.size()) + ".layer",
                        nn::Convolution::Shape{s.in, s.out, s.kernel, s.stride, (s.kernel - 1) / 2},
                        form);
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

at::Tensor enlarge_to(const at::Tensor& x, const at::Tensor& like) {
  return at::upsample_bilinear2d(x, like.sizes().slice(2), /*align_corners=*/false);
}

}  // namespace

Layer::Layer(const nn::WeightReader& weights, const std::string& name,
             const nn::Convolution::Shape& shape, Form form)
    : convolution_(weights.in(Precision::fp32), name + ".0", shape, /*with_bias=*/false) {
  const nn::BatchNorm norm(weights, name + ".1", shape.out, nn::BatchNorm::Affine::no);
  const at::ScalarType type = nn::scalar_type(weights.placement().precision);
  if (form == Form::fast) {
    norm.fold_into(convolution_);
    in_blocks_ = shape.in == 1 && shape.stride == 1;
    if (in_blocks_) {
      convolution_.weight = on_blocks(convolution_.weight);
      convolution_.bias = convolution_.bias.repeat_interleave(4);
    }
    convolution_.bias = convolution_.bias.to(type);
  } else {
    norm_ = norm;
  }
  convolution_.weight = convolution_.weight.to(type).contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor Layer::operator()(const at::Tensor& x) const {
  if (in_blocks_) {
    const at::Tensor blocks = at::pixel_unshuffle(x, 2).contiguous(at::MemoryFormat::ChannelsLast);
    return at::pixel_shuffle(convolution_(blocks).relu_(), 2);
  }
  const at::Tensor y = convolution_(x);
  return (norm_ ? (*norm_)(y) : y).relu_();
}

Net::Net(const nn::WeightReader& weights, Form form)
    : skip_(weights, "skip1.1", {1, 24, 1, 1, 0}),
      block1_(read_layers(weights, "block1",
                          {{1, 4, 3, 1}, {4, 8, 3, 2}, {8, 8, 3, 1}, {8, 24, 3, 2}}, form)),
      block2_(read_layers(weights, "block2", {{24, 24, 3, 1}, {24, 24, 3, 1}}, form)),
      block3_(
          read_layers(weights, "block3", {{24, 64, 3, 2}, {64, 64, 3, 1}, {64, 64, 1, 1}}, form)),
      block4_(
          read_layers(weights, "block4", {{64, 64, 3, 2}, {64, 64, 3, 1}, {64, 64, 3, 1}}, form)),
      block5_(read_layers(weights, "block5",
                          {{64, 128, 3, 2}, {128, 128, 3, 1}, {128, 128, 3, 1}, {128, 64, 1, 1}},
                          form)),
      fusion_(read_layers(weights, "block_fusion", {{64, 64, 3, 1}, {64, 64, 3, 1}}, form)),
      heatmap_(read_layers(weights, "heatmap_head", {{64, 64, 1, 1}, {64, 64, 1, 1}}, form)),
      keypoint_(read_layers(weights, "keypoint_head",
                            {{64, 64, 1, 1}, {64, 64, 1, 1}, {64, 64, 1, 1}}, form)),
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

// Zero mean, unit variance over the picture.
at::Tensor Net::normalised(const at::Tensor& grey) const {
  return at::group_norm(grey, /*num_groups=*/1, {}, {}, kEps).to(skip_.weight.scalar_type());
}

DenseMaps Net::heads(const at::Tensor& normalised, const at::Tensor& features) const {
  const at::Tensor cells =
      at::pixel_unshuffle(normalised, kCell).contiguous(at::MemoryFormat::ChannelsLast);
  return {features, heatmap_last_(run(heatmap_, features)).sigmoid_(),
          keypoint_last_(run(keypoint_, cells))};
}

DenseMaps Net::operator()(const at::Tensor& grey) const {
  const at::Tensor x = normalised(grey);
  return heads(x, features(x));
}

at::Tensor network_input(const at::Tensor& picture) {
  // The mean comes first: it and the resize are linear.
  at::Tensor grey = picture.mean({1}, true);
  const std::int64_t height = picture.size(2) / kStride * kStride;
  const std::int64_t width = picture.size(3) / kStride * kStride;
  if (height == picture.size(2) && width == picture.size(3)) return grey;
  return at::upsample_bilinear2d(grey, {height, width}, /*align_corners=*/false);
}

}  // namespace skyfix::xfeat
