#include "skyfix/memory/footprint_mast3r.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "skyfix/base/error.h"
#include "skyfix/memory/footprint_transformer.h"

namespace skyfix {
namespace {

constexpr std::int64_t kPatch = 16;
constexpr std::int64_t kEncoderWidth = 1024;
constexpr std::int64_t kEncoderBlocks = 24;
constexpr std::int64_t kDecoderWidth = 768;
constexpr std::int64_t kDecoderBlocks = 12;
constexpr std::int64_t kJoinedWidth = kEncoderWidth + kDecoderWidth;
constexpr std::int64_t kHeadHidden = 4 * kJoinedWidth;
constexpr std::int64_t kHeadOutputs = (24 + 1) * kPatch * kPatch;  // a patch's pixels x (24 + 1)
constexpr DenseHeadShape kDenseHead = {.patch = kPatch, .final = 128};

BlockShape encoder_block() { return {.width = kEncoderWidth, .hidden = 4 * kEncoderWidth}; }
BlockShape decoder_block() { return {.width = kDecoderWidth, .hidden = 4 * kDecoderWidth}; }

std::int64_t decoder_block_parameters() {
  const std::int64_t cross = 4 * linear_parameters(kDecoderWidth, kDecoderWidth);
  return block_parameters(decoder_block()) + 2 * norm_parameters(kDecoderWidth) + cross;
}

std::int64_t dense_head_parameters() {
  constexpr std::int64_t kStages[] = {96, 192, 384, 768};
  constexpr std::int64_t kFeatures = 256;
  std::int64_t sum = convolution_parameters(96, 96, 4) + convolution_parameters(192, 192, 2) +
                     convolution_parameters(768, 768, 3);
  for (const std::int64_t stage : kStages) {
    // The finest map comes from the encoder, the others from the decoder.
    sum += convolution_parameters(stage == 96 ? kEncoderWidth : kDecoderWidth, stage, 1) +
           convolution_parameters(stage, kFeatures, 3, false);
  }
  sum += 4 * (convolution_parameters(kFeatures, kFeatures, 1) +
              4 * convolution_parameters(kFeatures, kFeatures, 3));
  return sum + convolution_parameters(kFeatures, 128, 3) + convolution_parameters(128, 128, 3) +
         convolution_parameters(128, 4, 1);
}

ComponentNeed network_need(const Mast3rSettings& settings) {
  const Mast3rParameters parameters = mast3r_parameters();
  const std::int64_t all = parameters.encoder + parameters.decoder;
  const std::int64_t held = settings.stream_weights ? 2 * block_parameters(encoder_block()) : all;
  ComponentNeed need{.owner = "mast3r"};
  need.weights_bytes = held * data_type_bytes(settings.weights);
  if (settings.weights != settings.compute) {
    need.weights_bytes += held * data_type_bytes(settings.compute);
  }
  if (settings.stream_weights) need.host_bytes = all * data_type_bytes(settings.weights);
  return need;
}

// Values a token of a descriptor head: the joined states, the hidden layer before and after its
// activation, the outputs as they come and as pixels (a shuffle copies), the descriptors.
constexpr std::int64_t kDescriptorHeadValues = kJoinedWidth + 2 * kHeadHidden + 3 * kHeadOutputs;

// The larger of decoding all pairs of a batch and of the heads, which take one view of one pair at
// a time, on top of what passes between them (four decoder states of both views of each pair, the
// query's feature) and of the query's descriptors.
ComponentNeed activation_need(const Mast3rInput& input, const Mast3rSettings& settings) {
  const std::int64_t element = data_type_bytes(settings.compute);
  const std::int64_t pairs = settings.pairs_at_once;
  const std::uint64_t picture = input.pixels() * 3 * (4 + element);
  const std::uint64_t encoder =
      block_activation_bytes(encoder_block(), input.tokens(), settings.compute);
  const std::uint64_t decoder =
      2 * pairs * block_activation_bytes(decoder_block(), input.tokens(), settings.compute);
  const std::uint64_t states =
      input.tokens() * element * (kEncoderWidth + 2 * pairs * 4 * kDecoderWidth);
  const std::uint64_t descriptors = input.pixels() * 25 * 4;
  std::uint64_t head = input.tokens() * kDescriptorHeadValues * data_type_bytes(settings.heads);
  std::uint64_t points = 0;
  if (settings.points) {
    head = std::max(head, dense_head_activation_bytes(kDenseHead, input.tokens(), settings.heads));
    points = 2 * input.pixels() * 4 * 4;
  }
  ComponentNeed need{.owner = "mast3r activations"};
  need.workspace_bytes =
      picture + states + 2 * descriptors + points + std::max({encoder, decoder, head});
  return need;
}

}  // namespace

Mast3rInput mast3r_input(std::int64_t width, std::int64_t height, std::int64_t long_side) {
  const double scale =
      static_cast<double>(long_side) / static_cast<double>(std::max(width, height));
  const auto cut = [&](std::int64_t side) {
    const auto scaled =
        static_cast<std::int64_t>(std::nearbyint(static_cast<double>(side) * scale));
    return 2 * 8 * (2 * (scaled / 2) / kPatch);
  };
  const Mast3rInput input{.width = cut(width), .height = cut(height)};
  if (input.pixels() == 0) {
    throw Error(Reason::bad_option,
                fmt::format("a picture of {} x {} has no patch of 16 px left at long side {}",
                            width, height, long_side));
  }
  return input;
}

Mast3rParameters mast3r_parameters() {
  return {.encoder = convolution_parameters(3, kEncoderWidth, kPatch) +
                     kEncoderBlocks * block_parameters(encoder_block()) +
                     norm_parameters(kEncoderWidth),
          .decoder = linear_parameters(kEncoderWidth, kDecoderWidth) +
                     2 * kDecoderBlocks * decoder_block_parameters() +
                     norm_parameters(kDecoderWidth) + kDecoderWidth,
          .dense_heads = 2 * dense_head_parameters(),
          .descriptor_heads = 2 * (linear_parameters(kJoinedWidth, kHeadHidden) +
                                   linear_parameters(kHeadHidden, kHeadOutputs))};
}

std::uint64_t mast3r_feature_bytes(const Mast3rInput& input, DataType type) {
  return input.tokens() * kEncoderWidth * data_type_bytes(type);
}

std::vector<ComponentNeed> mast3r_needs(const Mast3rInput& input, const Mast3rSettings& settings) {
  const Mast3rParameters parameters = mast3r_parameters();
  ComponentNeed heads{.owner = "mast3r heads"};
  heads.weights_bytes =
      (parameters.descriptor_heads + (settings.points ? parameters.dense_heads : 0)) *
      data_type_bytes(settings.heads);
  return {network_need(settings), heads, activation_need(input, settings)};
}

}  // namespace skyfix
