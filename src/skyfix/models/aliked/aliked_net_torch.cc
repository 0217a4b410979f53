#include "skyfix/models/aliked/aliked_net_torch.h"

#include <array>

namespace skyfix::aliked {
namespace {

constexpr std::int64_t kStride = 32;
// Of the score head: 1x1, then 3x3.
constexpr std::array<std::int64_t, 4> kScoreWidths = {8, 4, 4, 1};

nn::Convolution folded(const nn::WeightReader& weights, const std::string& block, int number,
                       std::int64_t in, std::int64_t out) {
  const std::string index = std::to_string(number);
  nn::Convolution convolution(weights.in(Precision::fp32), block + ".conv" + index,
                              {in, out, 3, 1, 1}, /*with_bias=*/false);
  nn::BatchNorm(weights, block + ".bn" + index, out, nn::BatchNorm::Affine::yes)
      .fold_into(convolution);
  const at::ScalarType type = nn::scalar_type(weights.placement().precision);
  convolution.weight = convolution.weight.to(type).contiguous(at::MemoryFormat::ChannelsLast);
  convolution.bias = convolution.bias.to(type);
  return convolution;
}

// In place: of a result that nobody else holds.
at::Tensor activated(at::Tensor x) { return at::selu_(x); }

at::Tensor shrink(const at::Tensor& x, std::int64_t times) {
  return at::avg_pool2d(x, {times, times}, {times, times});
}

at::Tensor enlarge_to(const at::Tensor& x, const at::Tensor& like) {
  return at::upsample_bilinear2d(x, like.sizes().slice(2), /*align_corners=*/true);
}

// What is missing to a multiple of 32: half of it before.
std::pair<std::int64_t, std::int64_t> padding(std::int64_t size) {
  const std::int64_t total = (kStride - size % kStride) % kStride;
  return {total / 2, total - total / 2};
}

at::Tensor pad(const at::Tensor& picture) {
  const auto [top, bottom] = padding(picture.size(2));
  const auto [left, right] = padding(picture.size(3));
  if (top + bottom + left + right == 0) return picture;
  return at::replication_pad2d(picture, {left, right, top, bottom});
}

// The rows of an enlarged map at pixels of the padded picture.
at::Tensor read_enlarged(const models::FeatureTable& low, const DenseMaps& maps,
                         const at::Tensor& x, const at::Tensor& y) {
  const double step_x = double(low.width - 1) / double(maps.padded_width - 1);
  const double step_y = double(low.height - 1) / double(maps.padded_height - 1);
  return models::sample_bilinear(low, x.to(at::kFloat) * step_x, y.to(at::kFloat) * step_y);
}

}  // namespace

Net::PlainBlock Net::plain_block(const nn::WeightReader& weights, const std::string& name,
                                 std::int64_t in, std::int64_t out, bool with_way_round) {
  PlainBlock block{folded(weights, name, 1, in, out), folded(weights, name, 2, out, out), {}};
  if (with_way_round) block.around = {weights, name + ".downsample", {in, out, 1, 1, 0}};
  return block;
}

Net::DeformableBlock Net::deformable_block(const nn::WeightReader& weights, const std::string& name,
                                           std::int64_t in, std::int64_t out) {
  const auto norm = [&](const std::string& number) {
    return nn::BatchNorm(weights, name + ".bn" + number, out, nn::BatchNorm::Affine::yes);
  };
  return {{weights, name + ".conv1", in, out, norm("1")},
          {weights, name + ".conv2", out, out, norm("2")},
          {weights, name + ".downsample", {in, out, 1, 1, 0}}};
}

Net::Net(const nn::WeightReader& weights, const Config& config)
    : config_(config),
      block1_(plain_block(weights, "block1", 3, config.c1, false)),
      block2_(plain_block(weights, "block2", config.c1, config.c2, true)),
      block3_(deformable_block(weights, "block3", config.c2, config.c3)),
      block4_(deformable_block(weights, "block4", config.c3, config.c4)),
      descriptors_(weights, config) {
  const std::array<std::int64_t, 4> widths = {config.c1, config.c2, config.c3, config.c4};
  for (int i = 0; i < 4; ++i) {
    heads_.emplace_back(weights, "conv" + std::to_string(i + 1),
                        nn::Convolution::Shape{widths[i], config.dimension / 4, 1, 1, 0},
                        /*with_bias=*/false);
    const std::int64_t kernel = i == 0 ? 1 : 3;
    scores_.emplace_back(weights, "score_head." + std::to_string(2 * i),
                         nn::Convolution::Shape{i == 0 ? config.dimension : kScoreWidths[i - 1],
                                                kScoreWidths[i], kernel, 1, kernel / 2},
                         /*with_bias=*/false);
  }
}

at::Tensor Net::run(const DeformableBlock& block, const at::Tensor& x) {
  return activated(block.second(activated(block.first(x))).add_(block.around(x)));
}

Encoded Net::encode(const at::Tensor& picture) const {
  const at::Tensor input =
      pad(picture).to(heads_[0].weight.scalar_type()).contiguous(at::MemoryFormat::ChannelsLast);
  Encoded maps;
  maps.x1 = activated(block1_.second(activated(block1_.first(input))));
  const at::Tensor half = shrink(maps.x1, 2);
  maps.x2 = activated(block2_.second(activated(block2_.first(half))).add_(block2_.around(half)));
  maps.x3 = run(block3_, shrink(maps.x2, 4));
  maps.x4 = run(block4_, shrink(maps.x3, 4));
  return maps;
}

at::Tensor Net::head(int i, const at::Tensor& x) const { return activated(heads_[i](x)); }

at::Tensor Net::rest_of_scores(at::Tensor x) const {
  for (int i = 1; i < 4; ++i) x = scores_[i](activated(x));
  return x.sigmoid_();
}

DenseMaps Net::maps(const at::Tensor& picture) const {
  const Encoded encoded = encode(picture);
  const at::Tensor g2 = head(1, encoded.x2), g3 = head(2, encoded.x3), g4 = head(3, encoded.x4);
  // The score head's first layer in blocks of columns, one for each map.
  const std::int64_t quarter = config_.dimension / 4;
  const auto columns = [&](int i, const at::Tensor& x) {
    return at::conv2d(x, scores_[0].weight.narrow(1, i * quarter, quarter));
  };
  at::Tensor first = columns(0, head(0, encoded.x1));
  first.add_(enlarge_to(columns(1, g2), first));
  first.add_(enlarge_to(columns(2, g3), first));
  first.add_(enlarge_to(columns(3, g4), first));

  DenseMaps maps;
  maps.height = picture.size(2);
  maps.width = picture.size(3);
  maps.top = padding(maps.height).first;
  maps.left = padding(maps.width).first;
  maps.padded_height = encoded.x1.size(2);
  maps.padded_width = encoded.x1.size(3);
  maps.scores = rest_of_scores(first)[0][0]
                    .narrow(0, maps.top, maps.height)
                    .narrow(1, maps.left, maps.width)
                    .to(at::kFloat)
                    .contiguous();
  maps.x1 = models::feature_table(encoded.x1);
  maps.low2 = models::feature_table(g2);
  maps.low3 = models::feature_table(g3);
  maps.low4 = models::feature_table(g4);
  return maps;
}

at::Tensor Net::features_at(const DenseMaps& maps, const at::Tensor& x, const at::Tensor& y) const {
  const at::Tensor column = x + maps.left, row = y + maps.top;
  const at::Tensor full = maps.x1.rows.index_select(0, row * maps.padded_width + column);
  const at::Tensor g1 = activated(at::linear(full, heads_[0].weight.flatten(1).to(at::kFloat)));
  return models::unit_rows(at::cat(
      {g1, read_enlarged(maps.low2, maps, column, row), read_enlarged(maps.low3, maps, column, row),
       read_enlarged(maps.low4, maps, column, row)},
      1));
}

at::Tensor Net::describe(const DenseMaps& maps, const at::Tensor& places) const {
  const auto read = [&](const at::Tensor& x, const at::Tensor& y) {
    return features_at(maps, x, y);
  };
  return descriptors_(read, places, maps.height, maps.width);
}

Net::Direct Net::direct(const at::Tensor& picture) const {
  const Encoded encoded = encode(picture);
  const at::Tensor g1 = head(0, encoded.x1);
  const at::Tensor f =
      at::cat({g1, enlarge_to(head(1, encoded.x2), g1), enlarge_to(head(2, encoded.x3), g1),
               enlarge_to(head(3, encoded.x4), g1)},
              1);
  const auto crop = [&](const at::Tensor& map) {
    return map.narrow(2, padding(picture.size(2)).first, picture.size(2))
        .narrow(3, padding(picture.size(3)).first, picture.size(3))
        .to(at::kFloat);
  };
  const at::Tensor unit = f / f.norm(2, {1}, true).clamp_min(1e-12);
  return {crop(rest_of_scores(scores_[0](f)))[0][0], crop(unit)};
}

}  // namespace skyfix::aliked
