// The parameters of the streaming geometry transformer, tensor by tensor.
#include "skyfix/memory/footprint_gct.h"
#include "skyfix/memory/footprint_transformer.h"

namespace skyfix {
namespace {

constexpr std::int64_t kWidth = 1024;
constexpr std::int64_t kBlocks = 24;
constexpr std::int64_t kCameraWidth = 2048;

std::int64_t encoder_parameters() {
  const std::int64_t tokens = kWidth + 4 * kWidth + kWidth;  // class, registers, mask
  const std::int64_t positions = (1 + 37 * 37) * kWidth;
  const std::int64_t block =
      block_parameters({.width = kWidth, .hidden = 4 * kWidth, .layer_scale = true});
  return tokens + positions + convolution_parameters(3, kWidth, 14) + norm_parameters(kWidth) +
         kBlocks * block;
}

std::int64_t attention_stack_parameters() {
  return kBlocks *
         block_parameters(
             {.width = kWidth, .hidden = 4 * kWidth, .layer_scale = true, .head_norms = true});
}

std::int64_t camera_head_parameters() {
  const std::int64_t block =
      block_parameters({.width = kCameraWidth, .hidden = 4 * kCameraWidth, .layer_scale = true});
  return 4 * block + 9 + 2 * norm_parameters(kCameraWidth) + linear_parameters(9, kCameraWidth) +
         linear_parameters(kCameraWidth, 3 * kCameraWidth) +
         linear_parameters(kCameraWidth, kCameraWidth / 2) + linear_parameters(kCameraWidth / 2, 9);
}

std::int64_t dense_head_parameters(std::int64_t outputs) {
  constexpr std::int64_t kStages[] = {256, 512, 1024, 1024};
  constexpr std::int64_t kFeatures = 256;
  std::int64_t sum = norm_parameters(2 * kWidth);
  for (const std::int64_t stage : kStages) {
    sum += convolution_parameters(2 * kWidth, stage, 1) +
           convolution_parameters(stage, kFeatures, 3, false);
  }
  sum += convolution_parameters(256, 256, 4) + convolution_parameters(512, 512, 2) +
         convolution_parameters(1024, 1024, 3);
  // Four fusions; the coarsest has one residual unit, the others two, of two convolutions each.
  sum += 4 * convolution_parameters(kFeatures, kFeatures, 1) +
         14 * convolution_parameters(kFeatures, kFeatures, 3);
  return sum + convolution_parameters(kFeatures, 128, 3) + convolution_parameters(128, 32, 3) +
         convolution_parameters(32, outputs, 1);
}

}  // namespace

GctParameters gct_parameters() {
  return {.encoder = encoder_parameters(),
          .frame_blocks = attention_stack_parameters(),
          .global_blocks = attention_stack_parameters(),
          .special_tokens = 2 * (1 + 4 + 1) * kWidth,
          .camera_head = camera_head_parameters(),
          .depth_head = dense_head_parameters(2),
          .point_head = dense_head_parameters(4)};
}

}  // namespace skyfix
